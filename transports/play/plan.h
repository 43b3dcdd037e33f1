// A Plan is one rank's part of a schedule, for one element count, type and operator: made once,
// then replayed by execute() without allocation, lock or string.
//
// Making it settles everything that the rounds leave open:
// - Chunks become element ranges; empty ones vanish on both sides.
// - Every fold of a resolved round becomes one N-way reduction.
// - Sends are waited for late: before the first write into what they carry, or at the end.
// - A send whose chunks its own rank reduces into in the same round carries the values from before
//   the round, so the sum goes to scratch memory, and the next one back.
// - Out of place, a chunk is read from the input until it has first been written: to the output, or
//   to working memory what the collective does not leave there (sums for others on their way).
// - avg divides where a chunk's fold becomes complete, or at the end if some round completes only
//   part of what a rank reduces; either way all ranks get the same rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/fusion.h"
#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "transports/endpoint.h"

namespace collbench {

/// Where elements of a step lie: the caller's input, its output, or memory of the plan, for sums
/// beside what is still sent (scratch) and for what is only worked on (work).
enum class Place : std::uint8_t { input, output, scratch, work };

struct Step {
  enum class Kind : std::uint8_t { copy, divide, send, recv, recv_reduce, wait };
  Kind kind;
  Place from = Place::output;     // copy, divide, send: the source; recv_reduce: the own term
  Place to = Place::output;       // copy, divide, recv, recv_reduce: the destination
  Rank peer = -1;                 // send, recv
  std::int32_t ticket = -1;       // send, recv, recv_reduce: slot written; wait: slot waited for
  std::int32_t first_source = 0;  // recv_reduce: range of Plan::sources()
  std::int32_t source_count = 0;
  bool completes = false;  // recv_reduce: the fold now holds every rank's contribution
  std::int64_t first = 0;  // elements [first, first + count) of the vector
  std::int64_t count = 0;
};

/// Thread safety: immutable after construction.
class Plan {
 public:
  /// `count` elements are the whole vector. Throws InvalidArgument for what resolve() refuses.
  /// Requires 0 <= rank < schedule.ranks(), count >= 0 and a schedule of `collective`. O(operations
  /// of the rank); for avg O(all operations).
  Plan(const Schedule& schedule, Rank rank, std::int64_t count, DataType type, ReduceOp op,
       bool in_place, const Collective& collective = {});

  std::span<const Step> steps() const { return steps_; }
  std::span<const Rank> sources(const Step& step) const {
    return std::span<const Rank>(sources_).subspan(static_cast<std::size_t>(step.first_source),
                                                   static_cast<std::size_t>(step.source_count));
  }
  const std::optional<Fusion>& fusion() const { return fusion_; }
  const Traffic& traffic() const { return traffic_; }
  int tickets() const { return tickets_; }
  bool needs_scratch() const { return needs_scratch_; }
  bool needs_work() const { return needs_work_; }
  /// What the caller's buffers hold of the vector: the whole, both, in place.
  Elements input() const { return input_; }
  Elements output() const { return output_; }

  Rank rank() const { return rank_; }
  int ranks() const { return ranks_; }
  std::int64_t count() const { return count_; }
  DataType type() const { return type_; }
  ReduceOp op() const { return op_; }
  bool in_place() const { return in_place_; }
  /// The reduction of a step: avg divides only where the fold completes.
  Reduction reduction(bool completes) const {
    return {op_, op_ == ReduceOp::avg && completes ? ranks_ : 1};
  }

 private:
  friend class PlanBuilder;
  Rank rank_;
  int ranks_;
  std::int64_t count_;
  DataType type_;
  ReduceOp op_;
  bool in_place_;
  std::vector<Step> steps_;
  std::vector<Rank> sources_;
  std::optional<Fusion> fusion_;
  Traffic traffic_;
  int tickets_ = 0;
  bool needs_scratch_ = false;
  bool needs_work_ = false;
  Elements input_;
  Elements output_;
};

}  // namespace collbench
