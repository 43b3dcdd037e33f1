// Softmax and sparse categorical cross-entropy, the end of every model.
#pragma once

#include <cstdint>
#include <span>

#include "training/engines/engine.h"

namespace collbench {

/// Of one row of `classes` scores for each label: turns the scores into probabilities in place.
template <class T>
Score softmax_cross_entropy(T* scores, std::span<const int> labels, std::int64_t classes);

/// The gradient of `scale` times the summed loss with respect to the scores, in place of the
/// probabilities.
template <class T>
void softmax_cross_entropy_slope(T* probabilities, std::span<const int> labels,
                                 std::int64_t classes, double scale);

}  // namespace collbench
