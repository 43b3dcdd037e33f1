// What every connection to a worker's port begins with, in plain text, before the bytes of HTTP/2,
// of TLS or of elements: a proof that its caller knows the job's token.
//
//   caller:   CONNECT collbench HTTP/1.0, with the header "collbench: USE RANK RANKS NUMBER PROOF"
//   listener: HTTP/1.0 200 OK, for USE "elements" with the header "collbench: NUMBER PROOF"
//   caller:   PROOF, for "elements" only
//   listener: "+"
//
// The form is that of HTTP's proxies, because a channel of gRPC can speak it by itself before
// anything else. Its text is fixed with the channel, so whoever recorded it can repeat it; streams
// and calls therefore prove themselves again (transports/grpc/greeting.h), and connections of
// elements by numbers of both sides. This file depends on neither gRPC nor sockets, so that the
// parsing of untrusted input can be fuzzed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "transports/grpc/greeting.h"

namespace collbench {

/// What a connection is for: streams and calls of gRPC, or elements as they are.
enum class ConnectionUse : std::uint8_t { grpc, elements };

struct Preamble {
  ConnectionUse use = ConnectionUse::grpc;
  GrpcIdentity identity;  // as it claims
  std::string proof;
};

namespace preamble_names {
constexpr const char* target = "collbench";
constexpr const char* header = "collbench";
constexpr const char* start = "CONNECT ";
constexpr const char* end = "\r\n\r\n";
constexpr const char* granted = "HTTP/1.0 200 OK\r\n";
constexpr const char* accepted = "+";  // elements may follow
constexpr const char* refused = "HTTP/1.0 403 Forbidden\r\n\r\n";
/// As gRPC tells its caller of `refused`.
constexpr const char* refused_in_grpc = "response code 403";
}  // namespace preamble_names

constexpr std::size_t longest_preamble = 1024;  // bytes
constexpr std::size_t proof_digits = 64;

/// The value of the caller's header. A random number is made for it.
std::string preamble_value(ConnectionUse use, const GrpcIdentity& identity,
                           const std::string& token);
/// Reads what begins with CONNECT and ends with an empty line; nothing if it is none of ours.
std::optional<Preamble> read_preamble(std::string_view text);
/// Whether its proof is one of this token.
bool is_proved(const Preamble& preamble, const std::string& token);

/// The two proofs of a connection of elements, whose listener is `to` and chose `listener_number`.
struct ElementProofs {
  std::string listener;
  std::string caller;
};
ElementProofs element_proofs(const std::string& token, const GrpcIdentity& caller, Rank to,
                             const std::string& listener_number);
/// The listener's whole answer, and what is read from it: nothing if it grants nothing.
std::string elements_answer(const std::string& number, const std::string& proof);
struct ElementsAnswer {
  std::string number;
  std::string proof;
};
std::optional<ElementsAnswer> read_elements_answer(std::string_view text);

}  // namespace collbench
