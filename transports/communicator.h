// A Communicator is anything that can all-reduce: a schedule that collbench plays on an endpoint,
// or a black box (NCCL, MPI, Gloo). Benchmarks and training see nothing else.
#pragma once

#include <optional>
#include <string>

#include "core/data_type.h"
#include "core/units.h"
#include "transports/endpoint.h"

namespace collbench {

/// A library's own prediction of its all-reduce.
struct Forecast {
  Seconds time;
  std::string by;  // "ncclGroupSimulateEnd"
};

/// Thread safety: one communicator per rank, used by one thread. Every rank must make the same
/// calls in the same order with equal counts, types and operators. Every member throws
/// TransportError, naming the peer, if one is lost; the communicator is then unusable. Throws
/// Unavailable if the back end cannot do the type or operator.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;
  virtual Seconds now() const = 0;

  /// Puts the element-wise reduction of every rank's `in` into every rank's `out`. In place when
  /// both are the same region; otherwise they must not overlap, and `in` is left as it was.
  virtual void all_reduce(Region in, Region out, ReduceOp op) = 0;

  /// Copies `root`'s region to every rank.
  virtual void broadcast(Region region, Rank root) = 0;
  /// Returns once every rank has called it.
  virtual void barrier() = 0;

  /// Nothing if the library does not predict. Moves no data; every rank calls it.
  virtual std::optional<Forecast> estimate(Region /*in*/, Region /*out*/, ReduceOp /*op*/) {
    return std::nullopt;
  }
  /// "schedule direct over shared memory", "Open MPI 4.1.4": for records and tables.
  virtual std::string description() const = 0;

 protected:
  /// Throws InvalidArgument for the arguments of an all-reduce that differ in count or type.
  static void require_alike(Region in, Region out);
  /// Throws InvalidArgument for the root of a broadcast that is no rank.
  void require_root(Rank root) const;
};

}  // namespace collbench
