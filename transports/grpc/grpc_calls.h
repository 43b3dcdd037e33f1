// Calls over gRPC: each caller has one stream to the server, which begins with the greeting of
// transports/grpc/greeting.h and then carries requests and answers in turn, one message each.
//
// The last byte of an answer says whether it is one, or the reason of a refusal. The token is never
// sent; the content of calls is protected by TLS only.
#pragma once

#include <memory>

#include "transports/remote_calls.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace collbench {

class GrpcServer;

std::unique_ptr<CallNetwork> make_grpc_calls(const CallOptions& options);

/// The calls of a server that may carry other services, too. Thread safety: any number of threads.
class GrpcCallService {
 public:
  virtual ~GrpcCallService() = default;
  /// To be started by the server of the same process.
  virtual grpc::Service& service() = 0;
  /// From now on calls are abandoned and connections end. To be called before the server ends.
  virtual void end() = 0;
};

/// To be called before start() of `server`, which must be destroyed before the service.
std::unique_ptr<GrpcCallService> make_grpc_call_service(GrpcServer& server, CallHandlers handlers);

}  // namespace collbench
