#include "transports/grpc/greeting.h"

#include <algorithm>

#include "core/parse.h"

namespace collbench {

namespace {

constexpr std::size_t number_digits = 32;
constexpr std::size_t most_told = 16;  // characters

int read_number(const std::string& text) { return small_integer_in(text).value_or(-1); }

// Input of a stranger for error messages: cut off, and without terminal control characters.
std::string shortened(std::string text) {
  text.resize(std::min(text.size(), most_told));
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return text;
}

std::string proof(std::string_view part, const std::string& token, const GrpcIdentity& caller,
                  Rank to, const std::string& listener_number) {
  return proof_of(token, {part, caller.rank, to, caller.ranks, caller.number, listener_number});
}

}  // namespace

bool is_greeting_number(std::string_view text) {
  return text.size() == number_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

GrpcGreeting read_greeting(std::string_view called, std::string_view served,
                           std::string_view transport, const GrpcMetadata& metadata) {
  GrpcGreeting greeting;
  greeting.identity = {read_number(metadata(grpc_names::rank)),
                       read_number(metadata(grpc_names::ranks)), metadata(grpc_names::number)};
  const std::string version = metadata(grpc_names::version);
  const std::string other = metadata(grpc_names::transport);
  if (called != served) {
    greeting.unfit = "there is no such method";
  } else if (version != grpc_names::protocol) {
    greeting.unfit = "it speaks protocol " + std::string(grpc_names::protocol) + ", not '" +
                     shortened(version) + "'; all ranks need the same version of collbench";
  }
  if (!greeting.unfit.empty()) return greeting;
  if (greeting.identity.rank < 0 || greeting.identity.ranks < 1 ||
      !is_greeting_number(greeting.identity.number)) {
    greeting.unfit = "the call names no rank";
  } else if (other != transport) {
    greeting.unfit = "it has the transport " + std::string(transport) + ", not '" +
                     shortened(other) + "'; all ranks need the same --transport";
  }
  return greeting;
}

std::string caller_proof(const std::string& token, const GrpcIdentity& caller, Rank to,
                         const std::string& listener_number) {
  return proof("caller", token, caller, to, listener_number);
}

std::string listener_proof(const std::string& token, const GrpcIdentity& caller, Rank to,
                           const std::string& listener_number) {
  return proof("listener", token, caller, to, listener_number);
}

}  // namespace collbench
