// A case is one point of a benchmark: which collective by which algorithm, on which back end, over
// how much data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective.h"
#include "core/data_type.h"
#include "core/units.h"

namespace collbench {

/// What happens to the buffers between timed iterations, outside the timed region. `hot`: nothing
/// (nccl-tests' habit). `produced`: every rank rewrites its input and reads its output, as a
/// training step does. `cold`: iterations rotate through buffers larger than the last-level cache.
enum class Buffers : std::uint8_t { hot, produced, cold };
std::string_view to_string(Buffers buffers);
Buffers parse_buffers(std::string_view name);  // throws InvalidArgument

/// Where and how a simulated case is played, as the user wrote it; a real case has no topology.
struct Simulated {
  std::string topology;               // as machine() reads it: "cluster:4xdgx-h100"
  std::string engine = "auto";        // auto, model, quotient, fluid, simgrid
  std::string posting = "eager";      // eager, rendezvous
  std::string mapping = "row-major";  // of ranks to hosts, as place() reads it
  std::string protocol = "auto";      // of the machine's ladder; auto is the fastest
  bool equal_chunks = false;          // chunks are real shares, not whole elements
  bool real_data = false;             // simgrid: move, add and check values
  Seconds jitter{0};                  // mean of the exponential delay of each rank's start
  std::string stragglers;             // "3:10us,7:1ms": these ranks start later
  std::string slow_hosts;             // "3:0.5": links of host 3 reach half their bandwidth
  std::uint64_t seed = 1;             // of the jitter
  bool operator==(const Simulated&) const = default;
};

struct Case {
  std::string algorithm;  // as the user wrote it: "ring:segments=4", "auto", "gloo", "mpi"
  std::string backend;    // "shm", "grpc", "gloo", "mpi"; "sim" for a simulated case; empty: of a
                          // benchmark that is none of all-reduce, whose name is the algorithm
  int workers = 2;
  CollectiveKind collective = CollectiveKind::all_reduce;
  int root = 0;        // of a broadcast or a reduce
  std::string groups;  // "2x4": disjoint groups of workers side by side; empty: one of all
  std::string counts;  // "1M,2M,0,4K": elements of each rank's share; empty: equal shares
  Bytes bytes;         // vector size of one rank: of the larger buffer, as nccl-tests count
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  bool in_place = true;
  Buffers buffers = Buffers::produced;
  bool isolate = false;          // shm: workers are processes over a shared arena, not threads
  bool private_buffers = false;  // shm with isolate: user buffers are private to each process
  std::string transport;         // grpc: "raw", "tcp", "tf-recvbuf"; cuda: the executor; else empty
  std::string devices;           // cuda: "gpu:0,gpu:1"; empty: all that there are
  bool checksum = false;         // shm and grpc: every message is compared with its CRC-32C
  std::string inject;     // shm and grpc: faults, as transports/faults/injected_fault.h writes them
  std::string statistic;  // "mean", "median": another benchmark's table has only that figure of the
                          // case, and it is its one sample; empty: every sample is there
  int calls = 1;          // that the time of a sample is of: another benchmark's may be below 1 ns
  Simulated simulated;
};

/// Throws InvalidArgument for groups that the workers do not make.
inline int group_size(const Case& point) {
  return group_size(parse_groups(point.groups, point.workers), point.workers);
}
/// Throws InvalidArgument for counts that are not its shares.
inline Collective collective_of(const Case& point) {
  return with_counts({point.collective, point.root}, point.counts, group_size(point));
}

/// How long and how often to measure.
struct Sampling {
  int iterations = 0;  // timed iterations; 0: until the 95 % interval of the median is within
                       // +-target_interval, or max_time is spent, at least 10, at most 2,000
  int warmup = 5;      // at least; 10 % of the timed iterations if that is more
  double target_interval = 0.02;  // half width of the interval over the median
  Seconds max_time{1.0};          // per case, timed part
  Seconds timeout{60.0};          // a rank that does not answer for so long is lost
  Seconds trial{0.3};  // of `auto`: so long per case, but not beyond max_time, for playing what
                       // may be as fast; 0: the policy's choice is taken at its word
  bool back_to_back = true;  // also time batches without a barrier between
  bool rank_times = false;   // keep how long each rank was in each timed iteration
  bool check = true;         // compare with the exact result before and after timing
  std::uint64_t seed = 1;
  std::string observe;    // where rank 0 writes its sums of rough_value(), for `algos order`
  bool pin = true;        // rank r runs on the r-th of these processors, counted round and round
  std::vector<int> cpus;  // by the kernel's numbers; empty: the usable ones in order
};

}  // namespace collbench
