#include "training/held_pages.h"

#include <algorithm>
#include <cassert>

#include "transports/memory.h"

namespace collbench {

HeldPages::HeldPages(Region vector)
    : vector_(vector),
      before_(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(vector.data) % unit)) {
  holders_.resize(units_of({0, vector.count}).end, 0);
}

void HeldPages::hold(const Elements& part) {
  const Units units = units_of(part);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = units.first; i < units.end; ++i) ++holders_[i];
}

void HeldPages::release(const Elements& part) {
  const Units units = units_of(part);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = units.first; i < units.end; ++i) {
    assert(holders_[i] > 0);
    if (--holders_[i] > 0 || vector_.size().count < unit) continue;
    const std::int64_t begin =
        std::max<std::int64_t>(static_cast<std::int64_t>(i) * unit - before_, 0);
    const std::int64_t end =
        std::min(static_cast<std::int64_t>(i + 1) * unit - before_, vector_.size().count);
    release_pages(vector_.data + begin, Bytes{end - begin});
  }
}

HeldPages::Units HeldPages::units_of(const Elements& part) const {
  const std::int64_t width = size_of(vector_.type);
  const std::int64_t begin = before_ + part.first * width;
  const std::int64_t end = begin + part.count * width;
  return {static_cast<std::size_t>(begin / unit),
          static_cast<std::size_t>((end + unit - 1) / unit)};
}

}  // namespace collbench
