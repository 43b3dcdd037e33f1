#include "transports/communicator.h"

#include "core/error.h"

namespace collbench {

// Calls are timed: a message is made only when it is needed.
void Communicator::require_alike(Region in, Region out) {
  if (in.count == out.count && in.type == out.type) return;
  const auto words = [](Region region) {
    return std::to_string(region.count) + " " + std::string(to_string(region.type));
  };
  throw InvalidArgument("all_reduce: in has " + words(in) + " and out " + words(out) +
                        "; they must be alike");
}

void Communicator::require_root(Rank root) const {
  if (root >= 0 && root < ranks()) return;
  throw InvalidArgument("broadcast: root " + std::to_string(root) + " is not one of " +
                        std::to_string(ranks()) + " ranks");
}

}  // namespace collbench
