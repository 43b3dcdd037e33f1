#include "bench/foreign/left_out_rows.h"

#include <fmt/format.h>

namespace collbench {

std::vector<std::string> LeftOutRows::notes(CollectiveKind wanted) const {
  std::vector<std::string> notes;
  const auto add = [&](int count, const std::string& what) {
    if (count > 0) notes.push_back(fmt::format("left out: {} rows {}", count, what));
  };
  if (coarse > 0) {
    notes.push_back(fmt::format("left out: {} times whose algbw has too few digits", coarse));
  }
  add(without_operator, "without an operator, which are not of an all-reduce");
  add(with_root, "with a root, which are of a broadcast or reduce");
  add(cut, "that end before their columns do");
  add(of_others, fmt::format("that are not of {}", to_string(wanted)));
  for (const auto& [what, count] : unknown) {
    add(count, fmt::format("of {}, which is none of the types and operators here", what));
  }
  return notes;
}

}  // namespace collbench
