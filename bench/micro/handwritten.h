// All-reduces written by hand for threads of one process: what a schedule costs without an
// interpreter.
//
// Each makes the same passes over memory as the schedule of its name, with the same kernels, and
// nothing else: a flag per rank says how far it is. They are the yardstick of the executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/units.h"
#include "transports/endpoint.h"

namespace collbench {

/// What the ranks of a hand-written all-reduce share.
struct HandwrittenGroup {
  struct alignas(64) Flag {
    std::atomic<std::int64_t> up{0};    // steps begun, or segments sent up a tree
    std::atomic<std::int64_t> down{0};  // segments sent down a tree
    std::byte* data = nullptr;
  };
  explicit HandwrittenGroup(int n) : ranks(n), flags(static_cast<std::size_t>(n)) {}
  int ranks;
  std::vector<Flag> flags;
};

/// One rank's float32 sums in place. `name`: "ring", "tree" (binary, 8 segments) or
/// "halving-doubling" (a power of two of ranks). Every rank's flag must hold its buffer in `data`
/// before any rank starts, and all ranks make the same calls.
class Handwritten {
 public:
  Handwritten(std::string name, HandwrittenGroup& group, Rank rank);
  void all_reduce(Region buffer);

 private:
  void ring(Region buffer);
  void tree(Region buffer);
  void halving_doubling(Region buffer);

  std::string name_;
  HandwrittenGroup& group_;
  Rank rank_;
  std::int64_t steps_ = 0;     // steps finished in earlier calls
  std::int64_t segments_ = 0;  // segments finished in earlier calls
};

}  // namespace collbench
