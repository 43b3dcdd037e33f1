// What other benchmarks print, as names and times: the cases of `collbench ab --read FORMAT`, which
// compares any two programs whose output names what it timed.
//
// Unlike the tables of foreign_tables.h, which become measurements of an all-reduce, these need no
// rank or operator: a name is all that a case has, and with some formats a size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace collbench {

/// A case of another benchmark and its times in nanoseconds, above 0, at least one.
struct NamedTimes {
  std::string name;
  std::vector<double> ns;
  Bytes bytes{};  // of the vector; 0: not known
};

struct TimesFormat {
  std::string_view name;       // "osu"
  std::string_view statistic;  // what one time is: "mean"; empty: a sample
  bool takes_columns = false;  // "csv:name,value"
  bool has_sizes = false;      // NamedTimes::bytes
  /// `place` leads messages. `columns` are of the request.
  std::vector<NamedTimes> (*read)(std::string_view text, const std::vector<std::string>& columns,
                                  const std::string& place);
};

/// One of nccl-tests, osu, imb, gbench, hyperfine and csv, and, of csv, its columns: of names, of
/// times, and (optional) of units.
struct TimesRequest {
  const TimesFormat* format = nullptr;
  std::vector<std::string> columns = {};
};
/// "osu", "csv:case,seconds", "csv:case,time,unit". Throws InvalidArgument naming the label.
TimesRequest parse_times_request(const std::string& label, const std::string& text);

/// The cases in the order of their first line; times of one name are joined. Throws
/// InvalidArgument, PLACE: REASON, for what is not of that format, holds no time, or has one of 0.
std::vector<NamedTimes> read_named_times(const TimesRequest& request, std::string_view text,
                                         const std::string& place);

}  // namespace collbench
