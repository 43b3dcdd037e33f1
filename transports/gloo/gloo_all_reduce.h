// The all-reduce algorithms of Gloo behind one call, for gloo.cc alone.
//
// Gloo has two generations of them. The present one takes its buffers with every call; the older
// one is an object bound to one buffer, made in the same order on every rank, because its making
// claims message slots by counting.
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
class GlooAllReduce {
 public:
  virtual ~GlooAllReduce() = default;
  /// As Communicator::all_reduce, except that avg is not known here. Throws Gloo's own exceptions.
  virtual void run(Region in, Region out, ReduceOp op) = 0;
};

/// Throws InvalidArgument, with a suggestion, if `algorithm` is none of gloo_algorithms().
std::unique_ptr<GlooAllReduce> make_gloo_all_reduce(const std::string& algorithm,
                                                    const std::shared_ptr<gloo::Context>& context,
                                                    Seconds timeout);

}  // namespace collbench
