// Ranks as processes joined by gRPC streams over the loopback interface.
#include "algorithms/registry.h"
#include "bench/agreement.h"
#include "bench/backend.h"
#include "core/error.h"
#include "core/suggest.h"
#include "transports/grpc_endpoint.h"
#include "transports/schedule_communicator.h"

namespace collbench {
namespace {

WorkerKind kind(const Case&) { return WorkerKind::processes; }

std::unique_ptr<GrpcEndpoint> make_endpoint(const std::string& transport,
                                            const GrpcOptions& options) {
  if (transport.empty() || transport == "raw") return make_grpc_endpoint(options);
  if (transport == "tf-recvbuf") return make_tf_recvbuf_endpoint(options);
  throw InvalidArgument("unknown gRPC transport '" + transport + "'." +
                        did_you_mean(transport, {"raw", "tf-recvbuf"}) +
                        " Possible are raw and tf-recvbuf.");
}

std::unique_ptr<Communicator> make_communicator(const Case& which, WorkerContext& context) {
  const Schedule schedule = make_schedule(which.algorithm, which.workers);
  GrpcOptions options;
  options.rank = context.rank;
  options.ranks = context.ranks;
  options.job = context.job;
  options.timeout = context.timeout;
  std::unique_ptr<GrpcEndpoint> endpoint = make_endpoint(which.transport, options);
  endpoint->connect(gather_text(endpoint->address(), *context.rendezvous));
  const std::string over = which.transport == "tf-recvbuf" ? "gRPC, RecvBuf calls" : "gRPC streams";
  return make_schedule_communicator(schedule, std::move(endpoint),
                                    schedule.name() + " over " + over);
}

}  // namespace

Backend grpc_backend() {
  Backend row;
  row.name = "grpc";
  row.summary = "our schedules over gRPC, one process per worker";
  row.kind = kind;
  row.make_communicator = make_communicator;
  row.keeps_communicator = true;
  return row;
}

}  // namespace collbench
