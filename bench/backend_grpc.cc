// Ranks as processes joined by gRPC streams: over the loopback interface where we start them, over
// any network where the user does.
#include <algorithm>

#include "algorithms/registry.h"
#include "bench/agreement.h"
#include "bench/backend.h"
#include "bench/lent_endpoint.h"
#include "bench/meeting.h"
#include "bench/remote_team.h"
#include "core/error.h"
#include "core/suggest.h"
#include "transports/grpc_endpoint.h"
#include "transports/grpc_exchange_rate.h"
#include "transports/schedule_communicator.h"

namespace collbench {
namespace {

using namespace literals;

WorkerKind kind(const Case&) { return WorkerKind::processes; }

std::unique_ptr<GrpcEndpoint> make_endpoint(const std::string& transport,
                                            const GrpcOptions& options) {
  if (transport.empty() || transport == "raw") return make_grpc_endpoint(options);
  if (transport == "tf-recvbuf") return make_tf_recvbuf_endpoint(options);
  throw InvalidArgument("unknown gRPC transport '" + transport + "'." +
                        did_you_mean(transport, {"raw", "tf-recvbuf"}) +
                        " Possible are raw and tf-recvbuf.");
}

std::unique_ptr<GrpcEndpoint> listen_for(const RemoteJob& job, const GrpcOptions& options) {
  try {
    return make_endpoint(job.transport, options);
  } catch (const TransportError& error) {
    throw TransportError(std::string(error.what()) + "; is rank " + std::to_string(job.rank) +
                         " started twice?");
  }
}

std::vector<std::string> hosts_met(const RemoteJob& job, const GrpcEndpoint& endpoint) {
  const std::string own = endpoint.address();
  const Meeting meeting{job.meeting, job.rank, job.ranks(), job.token, job.timeout, job.on_waiting};
  return meet(meeting, std::stoi(own.substr(own.rfind(':') + 1)));
}

std::shared_ptr<Endpoint> join_remote(const RemoteJob& job) {
  GrpcOptions options;
  options.rank = job.rank;
  options.ranks = job.ranks();
  options.job = job.token;
  options.listen = job.listen;
  options.timeout = job.timeout;
  options.on_waiting = job.on_waiting;
  std::unique_ptr<GrpcEndpoint> endpoint = listen_for(job, options);
  endpoint->connect(job.meeting.empty() ? job.hosts : hosts_met(job, *endpoint));
  return endpoint;
}

// An endpoint that all ranks have joined.
std::unique_ptr<Endpoint> join(const std::string& transport, WorkerContext& context) {
  if (context.endpoint) return lend(context.endpoint);
  GrpcOptions options;
  options.rank = context.rank;
  options.ranks = context.ranks;
  options.job = context.job;
  options.timeout = context.timeout;
  std::unique_ptr<GrpcEndpoint> endpoint = make_endpoint(transport, options);
  endpoint->connect(gather_text(endpoint->address(), *context.rendezvous));
  return endpoint;
}

std::unique_ptr<Communicator> make_communicator(const Case& which, WorkerContext& context) {
  const Schedule schedule = make_schedule(which.algorithm, which.workers);
  const std::string over = which.transport == "tf-recvbuf" ? "gRPC, RecvBuf calls" : "gRPC streams";
  return make_schedule_communicator(schedule, join(which.transport, context),
                                    schedule.name() + " over " + over);
}

// Of the slowest rank, in the best of many short tries: a bound must not hold what other processes
// took. Streams even where the case uses RecvBuf calls: the bound is what gRPC could do.
Bandwidth exchange_rate(Bytes message, WorkerContext& context) {
  const auto [found, is_new] = context.exchange_rates.try_emplace(message.count);
  if (!is_new) return found->second;
  const auto fitting = [](Bytes all, Bytes one, std::int64_t least, std::int64_t most) {
    return static_cast<int>(std::clamp(all.count / one.count, least, most));
  };
  const int iterations = fitting(4_MiB, message, 2, 16);
  const int attempts = fitting(512_MiB, message * iterations, 5, 60);
  const std::unique_ptr<Endpoint> endpoint = join("raw", context);
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const Bandwidth mine = measure_exchange_rate(*endpoint, message, iterations);
    const auto rate = static_cast<std::int64_t>(mine.bytes_per_second);
    const std::vector<std::int64_t> all = context.rendezvous->gather(std::span(&rate, 1));
    const auto slowest = static_cast<double>(*std::min_element(all.begin(), all.end()));
    found->second = std::max(found->second, Bandwidth{slowest});
  }
  return found->second;
}

// What every rank must send and receive, at the rate at which neighbours exchange bytes. Nothing
// below 64 KiB, where messages cost more than bytes, and nothing where the one endpoint that there
// is has no streams.
std::optional<Bound> measure_bound(const Case& which, WorkerContext& context) {
  const int n = which.workers;
  if (which.bytes < 64_KiB || n < 2) return std::nullopt;
  if (context.endpoint && which.transport == "tf-recvbuf") return std::nullopt;
  const Bandwidth rate = exchange_rate(Bytes{which.bytes.count / n}, context);
  const Bytes sent{which.bytes.count / n * 2 * (n - 1)};
  return Bound{sent / rate, "gRPC: 2 (N-1)/N M bytes each way at " + to_string(rate) +
                                ", measured here as bare exchange between neighbours"};
}

}  // namespace

Backend grpc_backend() {
  Backend row;
  row.name = "grpc";
  row.summary = "our schedules over gRPC, one process per worker";
  row.kind = kind;
  row.make_communicator = make_communicator;
  row.keeps_communicator = true;
  row.measure_bound = measure_bound;
  row.join_remote = join_remote;
  return row;
}

}  // namespace collbench
