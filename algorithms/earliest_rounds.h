// The earliest rounds that respect "not before" and "after" between messages.
#pragma once

#include <optional>
#include <vector>

namespace collbench {

/// Message `to` must come in the round of `from` or later (delay 0), or strictly later (delay 1).
struct Precedence {
  int from;
  int to;
  int delay;
};

/// The smallest round of each of `messages` messages such that all precedences hold; nothing if
/// they contradict each other, that is, if a cycle has a delay. Linear time.
/// Source: longest paths over strongly connected components (Tarjan 1972).
std::optional<std::vector<int>> earliest_rounds(int messages,
                                                const std::vector<Precedence>& precedences);

}  // namespace collbench
