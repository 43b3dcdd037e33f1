// What a stream brings when it is opened: who calls, for which run, and the numbers and proofs by
// which both sides show that they know the job's token.
//
//   caller:   version, rank, ranks, number            (metadata of the call)
//   listener: version, number, proof of the listener  (initial metadata of the answer)
//   caller:   proof of the caller                     (first message)
//   listener: "+"                                     (first control message)
//
// No byte of the elements is sent before "+", and none is read before the caller's proof. This file
// knows nothing of gRPC, so that its reading of what strangers send can be fuzzed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "algorithms/schedule.h"
#include "transports/job_security.h"

namespace collbench {

namespace grpc_names {
constexpr const char* method = "/collbench.Transport/Exchange";
constexpr const char* version = "collbench-protocol";
constexpr const char* rank = "collbench-rank";
constexpr const char* ranks = "collbench-ranks";
constexpr const char* number = "collbench-number";
constexpr const char* proof = "collbench-proof";
/// Of the bytes on the wire; ranks of different versions refuse each other.
constexpr const char* protocol = "2";
}  // namespace grpc_names

/// Who calls.
struct GrpcIdentity {
  Rank rank = -1;
  int ranks = 0;
  std::string number;  // random, of this call
};

/// What a rank knows of itself and of its run.
struct GrpcSelf {
  Rank rank = 0;
  int ranks = 1;
  std::string token;
};

/// The value of a name in the metadata of a call; empty if it is not there.
using GrpcMetadata = std::function<std::string(const char* name)>;

struct GrpcGreeting {
  GrpcIdentity who;
  std::string unfit;  // why this is no caller of ours; empty if it may be one
};
/// Reads a call. What is told of it to the caller holds none of the caller's own words but a
/// shortened version.
GrpcGreeting read_greeting(std::string_view method, const GrpcMetadata& metadata);

/// The proofs of a call from `caller`, whose listener is `to` and chose `listener_number`.
std::string caller_proof(const std::string& token, const GrpcIdentity& caller, Rank to,
                         const std::string& listener_number);
std::string listener_proof(const std::string& token, const GrpcIdentity& caller, Rank to,
                           const std::string& listener_number);

}  // namespace collbench
