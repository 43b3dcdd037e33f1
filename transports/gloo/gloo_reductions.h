// The reductions of Gloo behind one call, for gloo.cc alone: its all-reduces, and its
// reduce-scatter.
//
// Gloo has two generations of them. The present one takes its buffers with every call; the older
// one is an object bound to one buffer, made in the same order on every rank, because its making
// claims message slots by counting. A reduce-scatter there is in the older one only.
#pragma once

#include <memory>
#include <string>

#include "core/units.h"
#include "transports/endpoint.h"

namespace gloo {
class Context;
}

namespace collbench {

/// Thread safety: belongs to the thread of its rank.
class GlooReduction {
 public:
  virtual ~GlooReduction() = default;
  /// As Communicator::all_reduce or, where `out` is this rank's share, a reduce-scatter; except
  /// that avg is not known here. Throws Gloo's own exceptions.
  virtual void run(Region in, Region out, ReduceOp op) = 0;
};

/// Throws InvalidArgument, with a suggestion, if `algorithm` is none of gloo_algorithms().
std::unique_ptr<GlooReduction> make_gloo_all_reduce(const std::string& algorithm,
                                                    const std::shared_ptr<gloo::Context>& context,
                                                    Seconds timeout);
/// Recursive halving into any shares, in the order of ranks.
std::unique_ptr<GlooReduction> make_gloo_reduce_scatter(
    const std::shared_ptr<gloo::Context>& context);

/// Every rank's `in` reduced into `out` of rank `root`, which is no other's region; the others' out
/// is working memory of the same size. As GlooReduction::run otherwise.
void gloo_reduce_to(const std::shared_ptr<gloo::Context>& context, Seconds timeout, Rank root,
                    Region in, Region out, ReduceOp op);

}  // namespace collbench
