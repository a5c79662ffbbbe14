// What a header needs to declare a coroutine, and no more of Boost.Asio than that.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

namespace repobridge {
namespace asio = boost::asio;
}
