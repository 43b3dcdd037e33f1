#include "transports/library_sessions.h"

#include <vector>

namespace collbench {
namespace {

std::vector<void (*)()>& open_sessions() {
  static std::vector<void (*)()> ends;
  return ends;
}

}  // namespace

void end_before_exit(void (*end)()) { open_sessions().push_back(end); }

void end_library_sessions() {
  for (auto& ends = open_sessions(); !ends.empty();) {
    const auto end = ends.back();
    ends.pop_back();
    end();
  }
}

}  // namespace collbench
