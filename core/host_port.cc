#include "core/host_port.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

int port_of(std::string_view what, std::string_view text, std::string_view digits, int least) {
  require(small_integer_in(digits, std::numeric_limits<int>::min()).has_value(),
          fmt::format("{}: '{}' is not HOST:PORT", what, text));
  const std::string label = fmt::format("{}: the port of '{}'", what, text);
  return static_cast<int>(parse_count(label, std::string(digits), least, 65'535));
}

}  // namespace

HostPort parse_host_port(std::string_view what, std::string_view text, int least_port) {
  const auto none = [&] { return fmt::format("{}: '{}' is not HOST:PORT", what, text); };
  const std::size_t colon = text.rfind(':');
  require(colon != std::string_view::npos && colon > 0, none());
  std::string_view host = text.substr(0, colon);
  if (host.front() == '[') {
    require(host.size() > 2 && host.back() == ']', none());
    host = host.substr(1, host.size() - 2);
  } else {
    require(host.find(':') == std::string_view::npos,
            fmt::format("{}: '{}' is not HOST:PORT; an IPv6 address stands in brackets, "
                        "[::1]:7101",
                        what, text));
  }
  require(host.find_first_of("[]/ \t\r\n,") == std::string_view::npos, none());
  return {std::string(host), port_of(what, text, text.substr(colon + 1), least_port)};
}

std::string to_string(const HostPort& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", address.host, address.port)
              : fmt::format("{}:{}", address.host, address.port);
}

bool is_loopback(std::string_view host) {
  // "127.example.org" is anybody's name.
  const bool number = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return (number && host.starts_with("127.")) || host == "::1" || host == "localhost";
}

}  // namespace collbench
