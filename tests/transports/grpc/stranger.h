// A stranger: a plain socket that connects to a rank's port and says what it likes.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "transports/grpc/preamble.h"

namespace collbench {

/// What a caller that knows the token says first: a stranger that has recorded it may repeat it.
inline std::string recorded_preamble(const std::string& token, const GrpcIdentity& identity,
                                     ConnectionUse use = ConnectionUse::grpc) {
  return std::string(preamble_names::start) + "x HTTP/1.0\r\nUser-Agent: x\r\n" +
         preamble_names::header + ": " + preamble_value(use, identity, token) + preamble_names::end;
}

/// Move only. Thread safety: none.
class Stranger {
 public:
  /// To 127.0.0.1.
  explicit Stranger(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // A door that neither takes nor closes is found by the test, and does not hold it up.
    const timeval patience{5, 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  Stranger(Stranger&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  Stranger& operator=(Stranger&&) = delete;
  ~Stranger() {
    if (socket_ >= 0) close(socket_);
  }

  bool connected() const { return connected_; }
  /// Repeats a preamble for gRPC and takes the answer to it; false if there is none.
  bool enter(const std::string& token) {
    if (!say(recorded_preamble(token, {0, 1, std::string(32, '1')}))) return false;
    const std::string answer = std::string(preamble_names::granted) + "\r\n";
    std::string heard(answer.size(), ' ');
    return recv(socket_, heard.data(), heard.size(), MSG_WAITALL) == std::ssize(heard) &&
           heard == answer;
  }
  /// False once the other side has closed, or has taken nothing for 5 s.
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        closed_ = closed_ || (errno != EAGAIN && errno != EINTR);
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// What comes until the other side closes or nothing more has come for `patience_ms`.
  std::string hear(int patience_ms) {
    std::string heard;
    char buffer[4096];
    for (;;) {
      pollfd wait{socket_, POLLIN, 0};
      if (poll(&wait, 1, patience_ms) <= 0) return heard;
      const ssize_t n = recv(socket_, buffer, sizeof buffer, 0);
      if (n <= 0) {
        closed_ = true;
        return heard;
      }
      heard.append(buffer, static_cast<std::size_t>(n));
    }
  }
  /// Whether the other side has closed, as far as hear() or a look now tells.
  bool closed() {
    if (!closed_) hear(0);
    return closed_;
  }

 private:
  int socket_;
  bool connected_;
  bool closed_ = false;
};

/// One frame of HTTP/2 (RFC 9113, section 4.1).
inline std::string http2_frame(char type, char flags, char stream, std::string_view payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) {
    frame += static_cast<char>(payload.size() >> static_cast<unsigned>(shift) & 0xff);
  }
  frame += type;
  frame += flags;
  frame.append(3, '\0');
  frame += stream;
  frame += payload;
  return frame;
}

/// The opening of a connection and of a call on stream 1, with headers of at most 127 characters.
inline std::string http2_call(const std::vector<std::pair<std::string, std::string>>& more_headers,
                              const std::string& path = "/collbench.Transport/Exchange") {
  std::vector<std::pair<std::string, std::string>> headers{{":method", "POST"},
                                                           {":scheme", "http"},
                                                           {":authority", "127.0.0.1"},
                                                           {"te", "trailers"},
                                                           {"content-type", "application/grpc"}};
  headers.insert(headers.begin() + 2, {":path", path});
  headers.insert(headers.end(), more_headers.begin(), more_headers.end());
  std::string block;
  for (const auto& [name, value] : headers) {  // literal, not indexed: RFC 7541, section 6.2.2
    block += '\0';
    block += static_cast<char>(name.size());
    block += name;
    block += static_cast<char>(value.size());
    block += value;
  }
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + http2_frame(4, 0, 0, "") +
         http2_frame(1, 4, 1, block);
}

}  // namespace collbench
