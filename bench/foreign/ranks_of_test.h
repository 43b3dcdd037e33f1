// How many ranks a test of nccl-tests has: by the lines that name them, or by its rows.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "heuristics/measurement.h"

namespace collbench {

/// The ranks of one test that lines name: all, or some of them where a text was shortened.
class NamedRanks {
 public:
  /// Whether it was not there yet.
  bool add(int rank, const std::string& host);
  bool empty() const { return host_of_.empty(); }
  const std::set<std::string>& hosts() const { return hosts_; }
  int named() const { return static_cast<int>(host_of_.size()); }
  /// The highest rank and all below it. Where lines are missing, the hosts are all nodes only if
  /// no rank is missing between those of one and of the next; else the nodes are not known (0).
  Scale scale() const;

 private:
  std::map<int, std::string> host_of_;
  std::set<std::string> hosts_;
};

/// One of the last digit of a number as it is written: 0.01 for "3.20".
double last_digit(std::string_view number);

/// How many ranks the rows of a test are of: by size and count where they count a share, else those
/// that make busbw = 2 (n - 1) / n algbw, by two figures and how far they were rounded.
class RanksByRows {
 public:
  void add(std::string_view algbw, std::string_view busbw);
  void add_shares(int ranks) { shares_ = ranks; }
  bool fits(double factor) const { return least_ > 0 && least_ <= factor && factor <= most_; }
  /// Whether the rows can be those of an all-reduce of so many ranks, or have as many shares.
  bool fits_ranks(int ranks) const;
  /// Whether they can be those of so many ranks: of an all-reduce, of what moves every rank's part
  /// once, or of what has a root.
  bool fits_some_test_of(int ranks) const;
  /// 0: several fit, or none. A factor of 1 is that of any number of ranks with a root, too: it
  /// tells two only where the rows are `surely` of an all-reduce.
  int ranks(bool surely) const;
  bool count_shares() const { return shares_ > 0; }

 private:
  double least_ = 0;
  double most_ = 3;
  int shares_ = 0;  // 0: not known
};

}  // namespace collbench
