// The one gRPC server of a process: it listens, has the job's certificates, guards connections
// whose callers have not proved yet that they know the job's token, and carries every service:
// streams of elements, RecvBuf calls, calls to parameter servers.
//
// A service greets its callers by transports/grpc/greeting.h, and tells the guard of each
// connection over which one has proved to know the token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transports/grpc/channel.h"
#include "transports/grpc/connection_guard.h"
#include "transports/job_security.h"

namespace grpc {
class AsyncGenericService;
class Server;
class ServerCompletionQueue;
class Service;
}  // namespace grpc

namespace collbench {

struct GrpcServing {
  std::string listen;  // HOST:PORT, port 0 lets the system choose
  JobSecurity security;
  int most_unproved = 1;     // connections at once
  int calls_at_once = 8;     // of a connection
  int longest_message = -1;  // bytes; -1: any
  std::vector<ChannelArgument> arguments;
  Rank rank = -1;  // of the server; -1: none
  int ranks = 1;
};

/// Thread safety: one owner; guard().prove() from any thread.
class GrpcServer {
 public:
  /// Listens; connections wait for start(). Throws TransportError with the system's reason,
  /// InvalidArgument for what require_secure() refuses, and if key and certificate do not match or
  /// are malformed, which gRPC itself would report only at the first connection.
  explicit GrpcServer(GrpcServing serving);
  /// Shuts down, unless that was done.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  /// Serves `services`, and calls of all other methods by `others`, if given; then there is a
  /// queue(), which the caller polls and at last shuts down and empties.
  void start(const std::vector<grpc::Service*>& services, grpc::AsyncGenericService* others);
  /// HOST:PORT, the port being the one chosen.
  const std::string& address() const { return address_; }
  const std::string& token() const { return serving_.security.token; }
  grpc::ServerCompletionQueue& queue() { return *queue_; }
  ConnectionGuard& guard() { return guard_; }
  /// Admits no more connections, and ends the calls that are not done after `patience`.
  void shut_down(Seconds patience);

 private:
  GrpcServing serving_;
  ConnectionGuard guard_;
  std::string address_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace collbench
