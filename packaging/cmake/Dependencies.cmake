# What the rooms are built on; docs/ARCHITECTURE.md says why each is there.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(GIT2 REQUIRED IMPORTED_TARGET libgit2>=1.5)
find_package(ZLIB REQUIRED)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp>=2.5)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
find_package(CLI11 REQUIRED)
find_package(CURL 7.88 REQUIRED)
# Its pkg-config file asks for Jansson's, which its headers do not need.
find_path(CJOSE_INCLUDE cjose/jws.h REQUIRED)
find_library(CJOSE_LIBRARY cjose REQUIRED)

# Debian 12 has two Boosts that exclude each other. packaging/install-deps unpacks 1.81's headers below the build
# folder where the machine has no newer ones, and never touches what is installed.
find_path(REPOBRIDGE_BOOST_INCLUDE boost/asio/as_tuple.hpp
  PATHS ${CMAKE_SOURCE_DIR}/build/deps/boost/usr/include NO_DEFAULT_PATH)
find_path(REPOBRIDGE_BOOST_INCLUDE boost/asio/as_tuple.hpp REQUIRED)
add_library(rb_boost INTERFACE)
target_include_directories(rb_boost SYSTEM INTERFACE ${REPOBRIDGE_BOOST_INCLUDE})
target_compile_definitions(rb_boost INTERFACE BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED)
# Optimising, g++ takes the frames of Asio's coroutines, which their promise both allocates and frees, for freed
# by another function than allocated them.
target_compile_options(rb_boost INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
