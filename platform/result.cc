#include "platform/result.h"

#include <system_error>

namespace repobridge {

Error os_error(std::string_view doing, int os_code) {
  std::string message(doing);
  message += ": ";
  message += std::generic_category().message(os_code);
  return Error{
      .kind = Kind::internal, .code = "INTERNAL_ERROR", .message = std::move(message), .os_code = os_code};
}

}  // namespace repobridge
