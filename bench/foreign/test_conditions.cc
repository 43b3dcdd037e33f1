#include "bench/foreign/test_conditions.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/parse.h"

namespace collbench {

void TestConditions::read(const std::vector<std::string_view>& words) {
  if (words.size() > 2 && words[1] == "Blocking" && words[2] == "Enabled:") is_waited_for = true;
  if (words.size() < 2 || words[1] != "nThread") return;
  for (std::size_t i = 2; i + 1 < words.size(); ++i) {
    const int count = small_integer_in(words[i + 1]).value_or(0);
    if (words[i] == "graph:") graph_launches = std::max(graph_launches, count);
    if (words[i] == "unalign:") first_element = std::max(first_element, count);
    if (words[i] == "iters:" && words[i - 1] == "agg") grouped = std::max(grouped, count);
  }
}

std::vector<std::string> TestConditions::notes() const {
  std::vector<std::string> notes;
  if (graph_launches > 0) {
    notes.push_back(
        fmt::format("its calls were launched as a CUDA graph (graph: {}): short vectors take some "
                    "microseconds less than is expected of calls one by one",
                    graph_launches));
  }
  if (grouped > 1) {
    notes.push_back(fmt::format(
        "its calls were launched {0} at a time (agg iters: {0}): short vectors take less than is "
        "expected of calls one by one",
        grouped));
  }
  if (is_waited_for) {
    notes.emplace_back(
        "each call was waited for (-z): short vectors take some microseconds more than is expected "
        "of calls that follow each other");
  }
  if (first_element > 0) {
    notes.push_back(
        fmt::format("its buffers were not aligned (unalign: {}): it is slower than is expected",
                    first_element));
  }
  return notes;
}

}  // namespace collbench
