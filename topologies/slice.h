// Slices of a pod of accelerators: a grid of chips whose axes close or not, by the rule of the pod.
#pragma once

#include <cstdint>
#include <vector>

namespace collbench {

/// axis: an axis closes if it has the rule's length, the full axis of a pod (TPU v5e, v6e).
/// cube: all axes close if each is a multiple of that length, whole cubes joined by optical
/// switches (TPU v4, v5p, 7x). pod: all axes close if the slice is the whole pod (TPU v2, v3).
struct WrapRule {
  enum class Kind : std::uint8_t { axis, cube, pod };
  Kind kind = Kind::axis;
  int length = 0;        // axis, cube
  std::vector<int> pod;  // pod
  int axes = 2;
  int most_chips = 0;
};

/// Which axes of a slice close. Throws InvalidArgument if the pod has no such slice, saying why.
/// Source: Google's pages on TPU v2 to 7x (docs.cloud.google.com/tpu/docs).
std::vector<bool> slice_wraps(const std::vector<int>& dims, const WrapRule& rule);

}  // namespace collbench
