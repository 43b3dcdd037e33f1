// The listener's side of a greeting on one call of gRPC, for every service.
//
// The caller's side is that of a stream (transports/grpc/stream.h), which carries calls as well.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "transports/grpc/greeting.h"

namespace grpc {
class ByteBuffer;
class ServerContextBase;
class Status;
}  // namespace grpc

namespace collbench {

/// The bytes of a message, or none if there are more than `most`.
std::string text_of(const grpc::ByteBuffer& message, std::size_t most = std::string::npos);

/// Thread safety: one thread.
class GrpcHandshake {
 public:
  /// Reads the call of `called`, a method's name, where `served` is the one that is there. If it
  /// may belong to this run, the answer is put into the initial metadata, which are still to be
  /// sent: it shows that this end knows the token, and lets the caller show it.
  GrpcHandshake(grpc::ServerContextBase& context, std::string_view called, std::string_view served,
                const GrpcSelf& self);

  /// What the caller claims to be, proved only once verdict_on() is OK.
  const GrpcIdentity& identity() const { return greeting_.identity; }
  /// Why the call is refused; OK if the caller's proof comes next.
  grpc::Status verdict() const;
  /// The same once its first message has come: OK if that is the proof.
  grpc::Status verdict_on(const grpc::ByteBuffer& message) const;

 private:
  GrpcGreeting greeting_;
  std::string expected_;  // from the caller
};

}  // namespace collbench
