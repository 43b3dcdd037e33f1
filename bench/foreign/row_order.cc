#include "bench/foreign/row_order.h"

#include <algorithm>
#include <cstddef>

namespace collbench {

void RowOrder::add(const std::string& kind, std::int64_t bytes) {
  constexpr std::size_t most_writers = 64;
  std::vector<std::int64_t>& sweeps = sweeps_[kind];
  auto goes_on = sweeps.rend();  // that with the next smaller size
  for (auto sweep = sweeps.rbegin(); sweep != sweeps.rend(); ++sweep) {
    if (*sweep < bytes && (goes_on == sweeps.rend() || *sweep > *goes_on)) goes_on = sweep;
  }
  if (goes_on == sweeps.rend()) {
    repeats_ = repeats_ || !sweeps.empty();
    sweeps.push_back(bytes);
    if (sweeps.size() > most_writers) sweeps.erase(sweeps.begin());
    return;
  }
  if (goes_on != sweeps.rbegin()) ++resumed_;
  *goes_on = bytes;
  std::rotate(sweeps.rbegin(), goes_on, goes_on + 1);
}

}  // namespace collbench
