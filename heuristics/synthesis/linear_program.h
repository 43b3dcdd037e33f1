// A linear program that grows: rows are added where an answer breaks them, and it is solved again
// from where it stood.
//
//   maximise gains . y   over y >= 0 with   gains . y <= most   and rows  terms . y <= limit,
//
// where every limit is at least 0, so that y = 0 is allowed. Dual simplex on a dense table of rows
// by variables, kept small by dropping added rows that have not bound for a while.
// Source: Chvatal, Linear Programming, chapter 10; perturbed against cycling as usual.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace collbench {

/// Of networks whose ranks are not alike: beyond, programs over all links take minutes to hours.
constexpr int most_programmed_ranks = 256;

struct LinearRow {
  std::vector<std::pair<int, double>> terms;  // variable, factor; each variable once
  double limit = 0;
};

/// Thread safety: none.
class LinearProgram {
 public:
  /// Requires a gain above 0, and all others at least 0.
  LinearProgram(std::vector<double> gains, double most);

  /// A `lasting` row is never dropped.
  /// Returns the number of the row, from 0 on.
  int add(const LinearRow& row, bool lasting);
  /// An optimum of all rows that are there. Returns how many pivots it took. Throws InvalidArgument
  /// after 50 for each row and column: rounding lets it go round in circles then.
  int solve();
  /// Drops rows that are slack and were so after each of the last `patience` calls of this.
  void drop_slack_rows(int patience);

  /// Of the last optimum, by variable.
  const std::vector<double>& values() const { return values_; }
  double gain() const;
  /// What a unit more of the limit of each row that binds would gain: its number and that price.
  std::vector<std::pair<int, double>> prices() const;
  int rows() const { return static_cast<int>(rows_.size()); }

 private:
  struct TableRow {
    std::vector<double> factor;  // by column
    double value = 0;            // of the basic variable
    int basic = 0;               // the variable, or columns_ and above for a slack
    bool lasting = false;
    int idle = 0;
  };
  void pivot(std::size_t row, int column);
  int leaving_row() const;
  int entering_column(const TableRow& row) const;

  int columns_;
  std::vector<double> gains_;
  std::vector<TableRow> rows_;
  std::vector<double> cost_;    // reduced, by column; at most 0
  std::vector<int> nonbasic_;   // the variable of each column
  std::vector<int> column_of_;  // by variable: its column, or -1
  std::vector<int> row_of_;     // by variable: its row, or -1
  std::vector<double> values_;
  int next_slack_;
  std::vector<bool> lasting_slack_;
};

}  // namespace collbench
