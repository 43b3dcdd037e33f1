// A Communicator is anything that can do collectives: a schedule that collbench plays on an
// endpoint, or a black box (NCCL, MPI, Gloo). Benchmarks and training see nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "algorithms/collective.h"
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

  /// Any collective. `in` is what this rank has of the vector before, `out` what it has after
  /// (elements_before(), elements_after() of algorithms/collective.h); what is empty may be null.
  /// `op` means nothing where nothing is added. In place where both lie in one vector of the
  /// caller, each at its place in it; all other elements of that vector may then change. Otherwise
  /// they must not overlap, and `in` is left as it was. The default can all-reduce, and broadcast
  /// in place.
  virtual void perform(const Collective& collective, Region in, Region out, ReduceOp op);
  /// Returns once every rank has called it.
  virtual void barrier() = 0;

  /// Memory for regions. The default is that of the host, as allocate_pages() gives it.
  virtual std::shared_ptr<std::byte> allocate(Bytes size);

  /// Nothing if the library does not predict. Moves no data; every rank calls it.
  virtual std::optional<Forecast> estimate(Region /*in*/, Region /*out*/, ReduceOp /*op*/) {
    return std::nullopt;
  }
  /// "schedule direct over shared memory", "Open MPI 4.1.4": for records and tables.
  virtual std::string description() const = 0;

 protected:
  /// Throws InvalidArgument for the arguments of an all-reduce that differ in count or type.
  static void require_alike(Region in, Region out);
  /// Throws InvalidArgument for a root that is no rank.
  void require_root(Rank root) const;

  /// Throws InvalidArgument for counts that do not cut `count` elements into a share for each rank.
  void require_counts(const Collective& collective, std::int64_t count) const;

  /// The whole vector of which a call of perform() has parts.
  struct Whole {
    std::int64_t count = 0;
    std::byte* vector = nullptr;  // in place; null otherwise
  };
  /// Throws InvalidArgument for regions that are no parts of one vector, and for a root that is no
  /// rank.
  Whole whole_of(const Collective& collective, Region in, Region out) const;
};

}  // namespace collbench
