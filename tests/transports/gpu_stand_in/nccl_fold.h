// What the stand-in's NCCL computes: element types by NCCL's numbers.
#pragma once

#include <cstddef>

namespace stand_in {

/// Every rank's part of a vector, one after the other.
struct Slots {
  const std::byte* first = nullptr;
  std::size_t bytes = 0;  // of one slot
  int ranks = 0;
};

/// Bytes of an element.
std::size_t width_of(int type);
/// out = the fold of all ranks' first `count` elements, in double; the tests' values are such that
/// any order and precision gives the same.
void fold_any(const Slots& slots, std::byte* out, std::size_t count, int type, int op);

}  // namespace stand_in
