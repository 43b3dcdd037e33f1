// Ranks as processes joined by gRPC streams: over the loopback interface where we start them, over
// any network where the user does.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/error.h"
#include "core/host_port.h"
#include "core/suggest.h"
#include "core/version.h"
#include "transports/grpc/exchange_rate.h"
#include "transports/grpc/grpc_calls.h"
#include "transports/grpc/grpc_endpoint.h"
#include "transports/grpc/recvbuf_coding.h"
#include "transports/world/agreement.h"
#include "transports/world/backend.h"
#include "transports/world/bootstrap.h"
#include "transports/world/bootstrap_sockets.h"
#include "transports/world/endpoint_views.h"
#include "transports/world/joined_world.h"

namespace collbench {
namespace {

using namespace literals;

constexpr struct {
  std::string_view name;
  std::unique_ptr<GrpcEndpoint> (*make)(const GrpcOptions&);
  const char* in_words;
} transports[] = {
    {"raw", make_grpc_endpoint, "gRPC streams"},
    {"tcp", make_tcp_endpoint, "TCP"},
    {"tf-recvbuf", make_tf_recvbuf_endpoint, "gRPC, RecvBuf calls"},
};

const auto& transport_named(std::string_view name) {
  return find_row("gRPC transport", name.empty() ? transports[0].name : name, transports);
}

std::unique_ptr<GrpcEndpoint> make_endpoint(const std::string& transport, GrpcOptions options) {
  const auto& row = transport_named(transport);
  options.transport = row.name;
  return row.make(options);
}

constexpr Seconds time_to_be_seen{3};

// A rank whose address is taken is perhaps there twice. Joining from another port shows the second
// one to the others, so that all of them end, whichever comes first.
void show_twice(GrpcOptions options, const JoinSpec& job) {
  const HostPort own = parse_host_port("the own address", options.listen, 0);
  options.listen = to_string(HostPort{own.host, 0});
  options.timeout = std::min(options.timeout, time_to_be_seen);
  options.on_waiting = nullptr;
  try {
    make_endpoint(job.transport, options)->connect(job.hosts);
  } catch (const Error&) {
    // Whatever came of it, this rank cannot take part.
  }
}

std::unique_ptr<GrpcEndpoint> listen_for(const JoinSpec& job, const GrpcOptions& options) {
  try {
    return make_endpoint(job.transport, options);
  } catch (const TransportError& error) {
    const std::string failure = error.what();
    const auto is_for = [&](int number) { return failure.ends_with(std::strerror(number)); };
    if (is_for(EADDRNOTAVAIL)) {
      throw TransportError(
          fmt::format("{}: no address of this machine; is rank {} to run here? "
                      "--bind 0.0.0.0 listens at all that there are",
                      failure, job.rank));
    }
    if (!is_for(EADDRINUSE)) throw;
    if (job.bootstrap.empty() && job.ranks() > 1) show_twice(options, job);
    throw TransportError(fmt::format("{}; is rank {} started twice?", failure, job.rank));
  }
}

std::vector<std::string> hosts_met(const JoinSpec& job, const GrpcEndpoint& endpoint) {
  Bootstrap bootstrap;
  bootstrap.address = job.bootstrap;
  const std::string listens = parse_host_port("the own address", job.listen, 0).host;
  if (listens != "0.0.0.0" && listens != "::") bootstrap.listen = listens;
  bootstrap.host = job.reached_at;
  bootstrap.rank = job.rank;
  bootstrap.ranks = job.ranks();
  bootstrap.version = std::string(collbench_version());
  bootstrap.token = job.token;
  bootstrap.timeout = job.timeout;
  bootstrap.on_waiting = job.on_waiting;
  bootstrap.while_waiting = job.while_waiting;
  return meet(bootstrap, parse_host_port("the own address", endpoint.address()).port);
}

std::shared_ptr<Endpoint> join_remote(const JoinSpec& job) {
  const JobSecurity security{job.token, job.tls};
  if (job.bootstrap.empty()) require_secure(security, job.hosts);
  require_secure(security, {&(job.bootstrap.empty() ? job.listen : job.bootstrap), 1});
  GrpcOptions options;
  options.rank = job.rank;
  options.ranks = job.ranks();
  options.job = job.token;
  options.tls = job.tls;
  options.listen = job.listen;
  options.timeout = job.timeout;
  options.on_waiting = job.on_waiting;
  options.while_waiting = job.while_waiting;
  allow_descriptors(descriptors_for(job.ranks()));
  std::unique_ptr<GrpcEndpoint> endpoint = listen_for(job, options);
  const std::vector<std::string> hosts =
      job.bootstrap.empty() ? job.hosts : hosts_met(job, *endpoint);
  if (job.on_hosts) job.on_hosts(hosts);
  endpoint->connect(hosts);
  return endpoint;
}

// An endpoint that all ranks have joined.
std::unique_ptr<Endpoint> join(const std::string& transport, RankContext& context) {
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

std::unique_ptr<Communicator> make_grpc_rank(const WorldSpec& spec, RankContext& context) {
  return play_on(join(spec.transport, context), spec, transport_named(spec.transport).in_words);
}

// RecvBuf calls send each message as one protocol buffer.
void require_sendable(const WorldSpec& spec, DataType type) {
  if (spec.transport != "tf-recvbuf" || spec.algorithm == "auto") return;
  const Plan plan = plan_of_rank_0(spec, type);
  for (const Step& step : plan.steps()) {
    if (step.kind != Step::Kind::send) continue;
    recvbuf::require_buffer(Bytes{step.count * size_of(type)});
  }
}

// Of the slowest rank, in the best of many short tries: a bound must not hold what other processes
// took.
Bandwidth exchange_rate(const std::string& transport, Bytes message, RankContext& context) {
  const auto [found, is_new] = context.exchange_rates.try_emplace(message.count);
  if (!is_new) return found->second;
  const auto fitting = [](Bytes all, Bytes one, std::int64_t least, std::int64_t most) {
    return static_cast<int>(std::clamp(all.count / one.count, least, most));
  };
  const int iterations = fitting(4_MiB, message, 2, 16);
  const int attempts = fitting(512_MiB, message * iterations, 5, 60);
  constexpr Seconds long_enough{0.5};  // on slow links; all ranks know the same rates
  Seconds spent{0};
  const std::unique_ptr<Endpoint> endpoint = join(transport, context);
  for (int attempt = 0; attempt < attempts && (attempt < 2 || spent < long_enough); ++attempt) {
    const Bandwidth mine = measure_exchange_rate(*endpoint, message, iterations);
    const auto rate = static_cast<std::int64_t>(mine.bytes_per_second);
    const std::vector<std::int64_t> all = context.rendezvous->gather(std::span(&rate, 1));
    const auto slowest = static_cast<double>(*std::min_element(all.begin(), all.end()));
    spent += message * iterations / Bandwidth{slowest};
    found->second = std::max(found->second, Bandwidth{slowest});
  }
  return found->second;
}

// What every rank must send and receive within its group, at the rate at which neighbours exchange
// bytes. Nothing below 64 KiB, where messages cost more than bytes, and nothing where the one
// endpoint that there is has no streams. Streams even where the case uses RecvBuf calls: the bound
// is what gRPC could do.
std::optional<TransportBound> measure_bound(const WorldSpec& spec, RankContext& context) {
  const int n = group_size(parse_groups(spec.groups, spec.ranks), spec.ranks);
  if (spec.bytes < 64_KiB || n < 2 || spec.collective.kind != CollectiveKind::all_reduce) {
    return std::nullopt;
  }
  if (context.endpoint && spec.transport == "tf-recvbuf") return std::nullopt;
  const bool is_tcp = spec.transport == "tcp";
  const Bytes message{spec.bytes.count / n};
  const Bandwidth rate = exchange_rate(is_tcp ? "tcp" : "raw", message, context);
  return TransportBound{message * (2 * (n - 1)) / rate,
                        fmt::format("{}: 2 (N-1)/N M bytes each way at {}, measured here as bare "
                                    "exchange between neighbours",
                                    is_tcp ? "TCP" : "gRPC", to_string(rate))};
}

}  // namespace

void complete_grpc(Backend& row) {
  row.make_communicator = make_grpc_rank;
  row.measure_bound = measure_bound;
  row.require_fits = require_sendable;
  row.join_remote = join_remote;
  row.call_network = make_grpc_calls;
}

}  // namespace collbench
