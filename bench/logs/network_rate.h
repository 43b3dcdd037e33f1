// Whether the network of a job is as fast as it should be, by the transfers of its collectives.
//
// Measured is the bus bandwidth of the transfers at the largest size; with several sizes its slope
// over size, which leaves latency out. Expected is what the user states (a rate or a machine) or,
// without that, what hosts for training are built with at least: an adapter of 200 Gb/s for each
// GPU, reaching 23 GB/s (NVIDIA/nccl issue 412: 24 of HDR), and two for a host of up to four. Where
// a communicator has some of its hosts' GPUs only, others may transfer beside it: then the least is
// its share of the adapters. An adapter of 100 Gb/s, 11.5 GB/s, where MPI runs among CPUs. From 0.8
// of it the network is healthy. Below it is slow if the expectation was stated; without that below
// half of the least, and in between it cannot be told.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/logs/operations.h"
#include "core/units.h"
#include "topologies/machine.h"

namespace collbench {

/// What the user says of the network.
struct NetworkExpectation {
  std::optional<Bandwidth> bus;  // of the bus, as nccl-tests count
  std::string topology;          // as machine() reads it; empty: not said
};

enum class NetworkState : std::uint8_t { unknown, healthy, slow };
std::string_view to_string(NetworkState state);

struct NetworkVerdict {
  NetworkState state = NetworkState::unknown;
  std::string basis;                // measured and expected in words
  std::string unknown;              // why it cannot be told; empty: it is told
  std::string where;                // "communicator 'dp2' on h0, h1"
  std::int64_t healthy_others = 0;  // communicators, where this is the worst of several
  bool is_doubtful = false;         // unknown, since it is below what is expected or usual
  std::int64_t bytes = -1;          // of the largest collective that has durations
  double measured_gbs = 0;
  double expected_gbs = 0;  // 0: no expectation
  bool assumed = false;     // the expectation was not stated
  std::string not_asked{};  // why the machine that was stated tells nothing; empty: it does
  /// Operations that took more than 1.5 times the usual transfer on all ranks, of those judged.
  std::int64_t disturbed = 0;
  std::int64_t judged = 0;
  std::string odd_size{};  // a size that takes longer than a larger one, in words; empty: none
};

/// Of one communicator, whose operations these are, by its collectives of the kind that moves the
/// most, or of another that is surely slow.
/// Throws InvalidArgument if the topology cannot be read or does not seat the ranks.
NetworkVerdict network_of(const JobLog& job, std::span<const JobOperation> operations,
                          const JobRanks& ranks, int communicator,
                          const NetworkExpectation& expectation);

/// The slowest of the verdicts of all communicators; unknown if none could be judged.
NetworkVerdict worst_of(const std::vector<NetworkVerdict>& verdicts);

}  // namespace collbench
