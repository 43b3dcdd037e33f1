// Which commands of a list last wrote and since read each element of each memory.
//
// From this follow a command's dependences: read after write, write after read, write after write.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace collbench {

/// The accesses to one memory, as disjoint intervals of elements. Thread safety: none needed.
class DeviceAccesses {
 public:
  /// Notes that `command` reads elements [first, last); appends what it must follow.
  void read(std::int64_t first, std::int64_t last, std::int32_t command,
            std::vector<std::int32_t>& follows);
  /// The same for a write.
  void write(std::int64_t first, std::int64_t last, std::int32_t command,
             std::vector<std::int32_t>& follows);

 private:
  struct Interval {
    std::int64_t last = 0;
    std::int32_t writer = -1;  // -1: not written yet
    std::vector<std::int32_t> readers;
  };
  using Intervals = std::map<std::int64_t, Interval>;  // by their first element

  void split(std::int64_t at);
  /// The intervals that cover exactly [first, last), made where there were none.
  Intervals::iterator cover(std::int64_t first, std::int64_t last);

  Intervals intervals_;
};

}  // namespace collbench
