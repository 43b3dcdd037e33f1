// How nccl-tests called what it timed, where that makes its times others than those of calls one by
// one: with -G, -m, -z and -u.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// Of all tests of a text: what holds for one of them counts.
struct TestConditions {
  int graph_launches = 0;  // at once, in a CUDA graph; 0: one by one
  int grouped = 1;         // calls that one launch plays
  bool is_waited_for = false;
  int first_element = 0;  // of buffers that are not aligned

  /// Of the words of a comment: "# nThread 1 .. agg iters: 1 validation: 1 graph: 0 unalign: 0",
  /// "# Blocking Enabled: ..".
  void read(const std::vector<std::string_view>& words);
  /// Why times may be others than is expected; empty for a usual test.
  std::vector<std::string> notes() const;
};

}  // namespace collbench
