// How connections that a guard has accepted reach a gRPC server.
#pragma once

#include <functional>
#include <memory>

namespace grpc {
class ServerBuilder;
class ServerCredentials;
}  // namespace grpc

namespace collbench {

/// Makes the builder's server take connections from outside, as callers of `credentials`. What is
/// returned hands one over, with the listener that accepted it, once the server has been started;
/// see ConnectionGuard::open().
std::function<void(int listener, int connection)> admission_to(
    grpc::ServerBuilder& builder, const std::shared_ptr<grpc::ServerCredentials>& credentials);

}  // namespace collbench
