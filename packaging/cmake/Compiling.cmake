# Warnings, hardening and sanitizers, as two targets: everything links rb_compiling; what is built without
# sanitizers in every preset (repobridge-run) links rb_warnings alone.
add_library(rb_warnings INTERFACE)
target_compile_options(rb_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wnull-dereference -Wformat=2 -Wimplicit-fallthrough
  # Designated initialisers name what differs; the rest has its default on purpose.
  -Wno-missing-field-initializers)
if(REPOBRIDGE_STRICT)
  target_compile_options(rb_warnings INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(rb_warnings INTERFACE -Wthread-safety)
endif()

# g++ sees null dereferences in standard headers once sanitizers or inlining have rewritten them, and g++ 12
# overlapping copies in every assignment of a literal to a std::string (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(rb_warnings INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized
    -Wno-restrict)
endif()

add_library(rb_hardening INTERFACE)
target_compile_options(rb_hardening INTERFACE
  -fstack-protector-strong -fstack-clash-protection -fcf-protection
  $<$<CXX_COMPILER_ID:GNU>:-ftrivial-auto-var-init=zero>
  $<$<CXX_COMPILER_ID:Clang>:-ftrivial-auto-var-init=pattern>)
target_compile_definitions(rb_hardening INTERFACE _GLIBCXX_ASSERTIONS
  $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=$<IF:$<CXX_COMPILER_ID:GNU>,3,2>>)
target_link_options(rb_hardening INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)

add_library(rb_compiling INTERFACE)
target_link_libraries(rb_compiling INTERFACE rb_warnings rb_hardening)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
target_link_options(rb_compiling INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
if(REPOBRIDGE_SANITIZE)
  target_compile_options(rb_compiling INTERFACE -fsanitize=${REPOBRIDGE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(rb_compiling INTERFACE -fsanitize=${REPOBRIDGE_SANITIZE})
endif()
if(REPOBRIDGE_FUZZ)
  target_compile_options(rb_compiling INTERFACE -fsanitize=fuzzer-no-link)
endif()
