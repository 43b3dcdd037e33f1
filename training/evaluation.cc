#include "training/evaluation.h"

#include <algorithm>
#include <cassert>

namespace collbench {
namespace {

template <class T>
T* elements(Region region) {
  return reinterpret_cast<T*>(region.data);
}

}  // namespace

Evaluation evaluate(Network& network, const Dataset& held_out, std::int64_t batch) {
  Score total;
  const std::int64_t size = held_out.shape.size();
  for (std::int64_t first = 0; first < held_out.size(); first += batch) {
    const std::int64_t count = std::min(batch, held_out.size() - first);
    const Score score = network.evaluate(
        {{held_out.images.data() + first * size, static_cast<std::size_t>(count * size)},
         {held_out.labels.data() + first, static_cast<std::size_t>(count)}});
    total.loss += score.loss;
    total.correct += score.correct;
  }
  const auto samples = static_cast<double>(held_out.size());
  return {total.loss / samples, static_cast<double>(total.correct) / samples};
}

std::vector<double> values_of(Region region) {
  std::vector<double> values(static_cast<std::size_t>(region.count));
  if (region.type == DataType::f32) {
    std::copy_n(elements<float>(region), region.count, values.begin());
  } else {
    std::copy_n(elements<double>(region), region.count, values.begin());
  }
  return values;
}

void set_values(Region region, const std::vector<double>& values) {
  assert(std::ssize(values) == region.count);
  if (region.type == DataType::f32) {
    std::transform(values.begin(), values.end(), elements<float>(region),
                   [](double value) { return static_cast<float>(value); });
  } else {
    std::copy(values.begin(), values.end(), elements<double>(region));
  }
}

}  // namespace collbench
