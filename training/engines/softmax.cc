#include "training/engines/softmax.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace collbench {

template <class T>
Score softmax_cross_entropy(T* scores, std::span<const int> labels, std::int64_t classes) {
  Score total;
  for (const int label : labels) {
    assert(label >= 0 && label < classes);
    const T* best = std::max_element(scores, scores + classes);
    const T largest = *best;
    total.correct += best - scores == label ? 1 : 0;
    T sum{0};
    for (std::int64_t j = 0; j < classes; ++j) sum += std::exp(scores[j] - largest);
    total.loss += static_cast<double>(std::log(sum) + largest - scores[label]);
    for (std::int64_t j = 0; j < classes; ++j) scores[j] = std::exp(scores[j] - largest) / sum;
    scores += classes;
  }
  return total;
}

template <class T>
void softmax_cross_entropy_slope(T* probabilities, std::span<const int> labels,
                                 std::int64_t classes, double scale) {
  for (const int label : labels) {
    probabilities[label] -= T{1};
    for (std::int64_t j = 0; j < classes; ++j) probabilities[j] *= static_cast<T>(scale);
    probabilities += classes;
  }
}

template Score softmax_cross_entropy(float*, std::span<const int>, std::int64_t);
template Score softmax_cross_entropy(double*, std::span<const int>, std::int64_t);
template void softmax_cross_entropy_slope(float*, std::span<const int>, std::int64_t, double);
template void softmax_cross_entropy_slope(double*, std::span<const int>, std::int64_t, double);

}  // namespace collbench
