// Which parts of a vector in memory are in use: unused parts go back to the system, in units of a
// huge page, because ordinary pages cost more time than their memory is worth here (12 MiB: 13
// ms to touch in pages of 4 KiB, 1.3 ms in huge ones).
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "algorithms/collective.h"
#include "transports/endpoint.h"

namespace collbench {

/// Thread safety: any number of threads.
class HeldPages {
 public:
  static constexpr std::int64_t unit = std::int64_t{2} << 20;

  /// Nothing is held. The memory is this process's own.
  explicit HeldPages(Region vector);

  /// What is held may be written, and stays.
  void hold(const Elements& part);
  /// Requires that it was held. Units without any held part are zero when next touched; a vector
  /// below one unit stays.
  void release(const Elements& part);

 private:
  struct Units {
    std::size_t first = 0;
    std::size_t end = 0;
  };
  Units units_of(const Elements& part) const;

  Region vector_;
  std::int64_t before_;  // bytes from the first unit's start to the vector
  std::mutex mutex_;
  std::vector<int> holders_;
};

}  // namespace collbench
