// Whether the rows of one test of nccl-tests are of several tests that wrote at once.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace collbench {

/// Takes the sizes of rows in the order in which they stand. A test goes through its sizes from the
/// least to the largest, once or several times, for each type and operator.
class RowOrder {
 public:
  /// `kind` is what else tells rows apart: type, operator and root.
  void add(const std::string& kind, std::int64_t bytes);
  bool empty() const { return sweeps_.empty(); }
  /// A sweep through the sizes began behind another one.
  bool repeats() const { return repeats_; }
  /// A sweep goes on, more than once, behind rows of another that began later.
  bool alternates() const { return resumed_ >= 2; }

 private:
  // By kind, the last sizes of the sweeps so far; what a row was added to last stands last.
  std::map<std::string, std::vector<std::int64_t>> sweeps_;
  bool repeats_ = false;
  int resumed_ = 0;
};

}  // namespace collbench
