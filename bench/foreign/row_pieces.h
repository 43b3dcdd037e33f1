// Rows of nccl-tests that NCCL wrote into: a row is printed in pieces, and with NCCL_DEBUG=INFO
// lines of NCCL stand between them, the first of them on the line where the piece ends.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace collbench {

/// Puts together the pieces of rows, of the lines of a text one after another.
class RowPieces {
 public:
  /// What is to be read in place of `line`: itself, or the row that it ends. Empty for lines of
  /// NCCL and for pieces of which more must come. `hosts` are those that the test runs on: NCCL's
  /// lines begin with their names, right behind the last digit of a piece. Valid until the next
  /// call. The end of the text counts as an empty line.
  std::string_view next(std::string_view line, const std::set<std::string>& hosts);
  /// Rows that could not be put together.
  int lost() const { return lost_; }

 private:
  std::string_view end_row(std::string_view line);

  std::string pieces_;  // of the row at hand
  std::string whole_;
  int lost_ = 0;
};

}  // namespace collbench
