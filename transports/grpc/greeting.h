// The handshake of every stream, of elements or of calls: the caller's identity, and the random
// numbers and proofs with which both sides show that they know the job's token.
//
//   caller:   version, rank, ranks, number            (metadata of the call)
//   listener: version, number, proof of the listener  (initial metadata of the answer)
//   caller:   proof of the caller                     (first message)
//   listener: "+"                                     (first control message)
//
// Nothing else is sent before "+", and nothing else is read before the caller's proof. This file
// does not depend on gRPC, so that the parsing of untrusted input can be fuzzed. A listener of
// calls is no rank: it is -1 in proofs, so that none serves on a stream of elements, or the
// reverse.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "algorithms/schedule.h"
#include "transports/job_security.h"

namespace collbench {

namespace grpc_names {
constexpr const char* exchange = "/collbench.Transport/Exchange";  // a stream of elements
constexpr const char* calls = "/collbench.Calls/Call";             // requests and answers
constexpr const char* version = "collbench-protocol";
constexpr const char* rank = "collbench-rank";
constexpr const char* ranks = "collbench-ranks";
constexpr const char* transport = "collbench-transport";
constexpr const char* number = "collbench-number";
constexpr const char* proof = "collbench-proof";
/// How the message ends that answers or refuses a call.
constexpr const char* answer = "=";
constexpr const char* refusal = "!";
/// Version of the wire format; ranks with different versions refuse each other.
constexpr const char* protocol = "4";
}  // namespace grpc_names

constexpr const char* of_another_run = "it belongs to another run: its job differs (another token)";

/// The identity that a caller claims.
struct GrpcIdentity {
  Rank rank = -1;
  int ranks = 0;
  std::string number;  // random, of this call
};

/// A rank's own identity and the secret of its run.
struct GrpcSelf {
  Rank rank = 0;
  int ranks = 1;
  std::string token;
  std::string transport = {};  // of elements; "" for calls
};

/// The value of a name in the metadata of a call; empty if it is not there.
using GrpcMetadata = std::function<std::string(const char* name)>;

struct GrpcGreeting {
  GrpcIdentity identity;
  std::string unfit;  // why the call is refused; empty if it may belong to this run
};
/// Reads a call of the method `called`, where `served` is the one that is there. The reason for
/// refusing it contains nothing that the caller sent except its version or its transport, where
/// that is not `transport`, cut off and made printable.
GrpcGreeting read_greeting(std::string_view called, std::string_view served,
                           std::string_view transport, const GrpcMetadata& metadata);

/// Whether it is 128 bits in hexadecimal digits, as random_digits() gives.
bool is_greeting_number(std::string_view text);

/// The proofs of a call from `caller`, whose listener is `to` and chose `listener_number`.
std::string caller_proof(const std::string& token, const GrpcIdentity& caller, Rank to,
                         const std::string& listener_number);
std::string listener_proof(const std::string& token, const GrpcIdentity& caller, Rank to,
                           const std::string& listener_number);

}  // namespace collbench
