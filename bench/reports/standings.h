// The answer that a comparison is made for: which contender is fastest where, and by how much.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bench/records/record.h"
#include "bench/reports/text.h"

namespace collbench {

/// What competes with others of the same size and setting.
struct ContenderTime {
  Case point;
  double median_ns = 0;
  double low_ns = 0;  // 95 % interval of the median
  double high_ns = 0;
  bool few = false;        // too few samples for an interval
  bool disturbed = false;  // the record has warnings: its interval may be too narrow
};

/// The contenders of one size in one setting, the fastest first. At least two. Of a contender with
/// several records (cycles), the middle of their medians: from six on with the interval of these,
/// since cycles differ by more than the iterations of one do, below with the ends of all intervals.
using Contest = std::vector<ContenderTime>;

/// Whether the 95 % intervals of two medians overlap, or one has none for want of samples, so that
/// neither is known to be the faster.
bool overlap(const ContenderTime& a, const ContenderTime& b);

/// Collects measurements and summarises them in a few sentences. Thread safety: none.
class Standings {
 public:
  /// Cases that were skipped or gave a wrong result do not compete.
  void add(const Record& record, const Figures& shown);

  /// "at 1 MiB: direct@shm is 7.4 +- 0.3 times faster than mpi": one sentence for each stretch of
  /// sizes with the same winner, at most four for the whole run. "+-" combines the 95 % intervals
  /// of both medians; simulated times are exact and have none. What rests on a disturbed record
  /// says so: its iterations are not independent, as an interval takes them to be. Empty where no
  /// case has two contenders. Cases of fewer than six samples are left to a line that says so.
  std::vector<std::string> lines(bool unicode) const;

  /// All contests, by contest_setting() and bytes.
  std::map<std::string, std::map<std::int64_t, Contest>> contests() const;
  /// Whether the contenders' names need their back ends.
  bool with_backend() const;

 private:
  std::vector<Case> cases() const;

  std::vector<ContenderTime> times_;
};

}  // namespace collbench
