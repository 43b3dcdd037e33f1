// One host whose ranks share its cores, caches and memory: threads or processes that read each
// other's memory, or processes that send bytes through the loopback.
//
//   t = start + P + sum over rounds, count times [ hop + P(round) + X ]
//   P = 0 while every rank has a core, else switch * (ranks that act) / cores
//   X = the busiest core's:
//         memory:   receipts message + (stored + snapshot) c + reduced r
//         messages: (sends + receipts) message + (sent + stored + reduced) c + reduced r
//   c = copy + copy_large L,  r = reduce + reduce_large L,  L = T^2 / (T^2 + cache^2)
//
// T bytes touched by all ranks. Beside cores that each rank has for itself a hop in memory is a
// spinning reader's; ranks that share one hand it on by yielding, and that is the hop. Bytes
// through the loopback cost the time of a core at either end, so that they are no link's but the
// cores'. Where shared memory fuses the rounds (algorithms/fusion.h), the ranks meet twice and
// share one pass: t = start + P + meetings (hop or P) + pass (stream + stream_large L).
#include <algorithm>
#include <array>

#include "heuristics/structure/host_work.h"
#include "heuristics/structure/network_model.h"

namespace collbench {
namespace {

enum HostConstant : std::size_t {
  h_start,
  h_hop,
  h_switch,
  h_message,
  h_copy,
  h_reduce,
  h_copy_large,
  h_reduce_large,
  h_cache,
  h_stream,
  h_stream_large
};

// Orders of magnitude on two cores of Xeon and EPYC servers of 2023.
constexpr std::array<NetworkConstant, 11> memory_constants{{
    {"start", "us", 0.15, 1, "of a collective"},
    {"hop", "us", 0.2, 1, "of a round between ranks with cores of their own"},
    {"switch", "us", 1.2, 0.5, "from one rank to the next on the same core"},
    {"message", "us", 0.1, 1, "of a message received"},
    {"copy", "us/B", 1 / 30e3, 0.7, "of a byte copied between caches"},
    {"reduce", "us/B", 1 / 30e3, 0.7, "of a byte added"},
    {"copy_large", "us/B", 1 / 10e3, 0.7, "in addition where the vectors exceed the cache"},
    {"reduce_large", "us/B", 1 / 10e3, 0.7, "likewise"},
    {"cache", "B", 16e6, 0.7, "that all ranks share"},
    {"stream", "us/B", 1 / 60e3, 0.7, "of a byte read or written in a fused pass"},
    {"stream_large", "us/B", 1 / 20e3, 0.7, "in addition where the vectors exceed the cache"},
}};

// gRPC over TCP, likewise; the last two constants of the above do not occur.
constexpr std::array<NetworkConstant, 9> message_constants{{
    {"start", "us", 2, 1, "of a collective"},
    {"hop", "us", 12, 1, "of a round, until the receiver sees the message"},
    {"switch", "us", 3, 0.7, "from one rank to the next on the same core"},
    {"message", "us", 5, 1, "of a message sent or received, in time of a core"},
    {"copy", "us/B", 1 / 4e3, 0.7, "of a byte sent or received, in time of a core"},
    {"reduce", "us/B", 1 / 20e3, 0.7, "of a byte added"},
    {"copy_large", "us/B", 1 / 20e3, 0.7, "in addition where the vectors exceed the cache"},
    {"reduce_large", "us/B", 1 / 10e3, 0.7, "likewise"},
    {"cache", "B", 16e6, 0.7, "that all ranks share"},
}};

// MPI through the memory of the host, likewise: long messages are copied once, by the receiver.
constexpr std::array<NetworkConstant, 9> library_constants = [] {
  auto constants = message_constants;
  constants[h_start].prior = 0.3;
  constants[h_hop].prior = 0.4;
  constants[h_switch].prior = 1.2;
  constants[h_message].prior = 0.3;
  constants[h_copy].prior = 1 / 16e3;
  return constants;
}();

// The same where ranks that wait keep their core until the scheduler takes it, 3 to 4 ms later. In
// such a turn several ranks and rounds may get on.
constexpr std::array<NetworkConstant, 9> busy_library_constants = [] {
  auto constants = library_constants;
  constants[h_switch].prior = 1000;
  constants[h_switch].deviation = 1.5;
  return constants;
}();

constexpr double refill = 0.1;

struct HostCosts {
  double copy;  // us/B, as the vectors are
  double reduce;
  double stream;
};

HostCosts costs_at(double touched, std::span<const double> c) {
  const double scaled = touched / c[h_cache];
  const double large = scaled * scaled / (1 + scaled * scaled);
  const bool streams = c.size() > h_stream_large;
  return {c[h_copy] + c[h_copy_large] * large, c[h_reduce] + c[h_reduce_large] * large,
          streams ? c[h_stream] + c[h_stream_large] * large : 0};
}

/// A rank that runs again finds the caches filled by the others on its core.
double switch_time(const Scale& scale, std::span<const double> c) {
  const double per_core = std::max(1.0, 1.0 * scale.ranks / scale.cores);
  return c[h_switch] * (1 + refill * (per_core - 1));
}

template <class Work>
double rounds_time(const HostWork& work, double per_rank, double hop, Work core_time) {
  double time = 0;
  for (const HostRound& round : work.rounds) {
    double busiest = 0;
    for (const CoreWork& core : round.cores) busiest = std::max(busiest, core_time(core));
    time += round.count * (hop + per_rank * round.active + busiest);
  }
  return time;
}

double memory_time(const PlayedMethod& played, const Scale& scale, double bytes,
                   std::span<const double> c) {
  const auto work = known_host_work(played.spec, scale.ranks, scale.cores,
                                    Bytes{static_cast<std::int64_t>(bytes)}, true);
  const bool crowded = scale.ranks > scale.cores;
  const double per_rank = crowded ? switch_time(scale, c) / scale.cores : 0;
  const double turn = per_rank * scale.ranks;
  const double turns = crowded ? 1.0 * scale.ranks / scale.cores : 1;
  const double hop = crowded ? 0 : c[h_hop];
  const HostCosts cost = costs_at(scale.ranks * bytes * work->footprint, c);
  if (work->meetings > 0) {
    // Every rank reads what every other one has announced.
    const double looks = turns * scale.ranks * c[h_message];
    return c[h_start] + turn + work->meetings * (hop + turn + looks) +
           work->pass * bytes * cost.stream;
  }
  return c[h_start] + turn + rounds_time(*work, per_rank, hop, [&](const CoreWork& core) {
           return core.receipts * c[h_message] +
                  bytes * ((core.stored + core.snapshot) * cost.copy + core.reduced * cost.reduce);
         });
}

double message_time(const PlayedMethod& played, const Scale& scale, double bytes,
                    std::span<const double> c) {
  const PlayedMethod real = played_for(played, scale.ranks, bytes, 4);
  const std::string row(real.form == PlayedForm::schedule ? real.spec : registry_row(real));
  const auto work = known_host_work(row, scale.ranks, scale.cores,
                                    Bytes{static_cast<std::int64_t>(bytes)}, false);
  const double per_rank = scale.ranks > scale.cores ? switch_time(scale, c) / scale.cores : 0;
  const HostCosts cost = costs_at(scale.ranks * bytes * work->footprint, c);
  return c[h_start] + per_rank * scale.ranks +
         rounds_time(*work, per_rank, c[h_hop], [&](const CoreWork& core) {
           const double moved = core.sent + core.stored + core.reduced;
           return (core.sends + core.receipts) * c[h_message] +
                  bytes * (moved * cost.copy + core.reduced * cost.reduce);
         });
}

NetworkModel host_network(Interconnect interconnect, std::string_view name,
                          std::span<const NetworkConstant> constants,
                          decltype(NetworkModel::microseconds) time) {
  return {interconnect, name, constants, time, 0.2, 1.5, {"start", "hop", "copy", "reduce"}, 0.1};
}

}  // namespace

NetworkModel host_memory() {
  return host_network(Interconnect::host_memory, "host-memory", memory_constants, memory_time);
}

NetworkModel host_messages() {
  return host_network(Interconnect::host_messages, "host-messages", message_constants,
                      message_time);
}

NetworkModel host_library() {
  return host_network(Interconnect::host_library, "host-library", library_constants, message_time);
}

NetworkModel host_busy_library() {
  return host_network(Interconnect::host_busy_library, "host-busy-library", busy_library_constants,
                      message_time);
}

}  // namespace collbench
