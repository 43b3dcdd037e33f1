// The elements of regions and vectors in host memory.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "transports/communicator.h"

namespace collbench {

/// use(T*) with the first element.
template <class Use>
decltype(auto) with_elements(Region region, Use use) {
  return region.type == DataType::f64 ? use(reinterpret_cast<double*>(region.data))
                                      : use(reinterpret_cast<float*>(region.data));
}

/// to = a (op) b, element by element; all are of one type and count.
template <class Operation>
void combine(Region a, Region b, Region to, Operation operation) {
  with_elements(to, [&]<class T>(T* into) {
    const auto* first = reinterpret_cast<const T*>(a.data);
    std::transform(first, first + a.count, reinterpret_cast<const T*>(b.data), into, operation);
  });
}

/// to = from; both are of one type and count.
inline void copy(Region from, Region to) { std::copy_n(from.data, from.size().count, to.data); }

/// region *= factor.
inline void scale(Region region, double factor) {
  with_elements(region, [&]<class T>(T* values) {
    for (std::int64_t i = 0; i < region.count; ++i) values[i] *= static_cast<T>(factor);
  });
}

/// The elements as numbers, exactly; a region may be empty.
inline std::vector<double> values_of(Region region) {
  return with_elements(
      region, [&](const auto* from) { return std::vector<double>(from, from + region.count); });
}
/// Requires as many values as elements.
inline void set_values(Region region, std::span<const double> values) {
  assert(std::ssize(values) == region.count);
  with_elements(region, [&]<class T>(T* to) {
    std::transform(values.begin(), values.end(), to,
                   [](double value) { return static_cast<T>(value); });
  });
}

/// All-reduces a vector of f64 or i64 in place.
template <class T>
void all_reduce(Communicator& communicator, std::vector<T>& values, ReduceOp op) {
  const Region region{reinterpret_cast<std::byte*>(values.data()), std::ssize(values),
                      std::is_same_v<T, double> ? DataType::f64 : DataType::i64};
  communicator.all_reduce(region, region, op);
}

}  // namespace collbench
