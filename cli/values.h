// How the values of options are written: counts, durations, percentages, lists, gates.
//
// Every function takes the label of the option, for its messages, and throws InvalidArgument that
// names label, text and what would be right. Sizes are read by parse_size in core/units.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/units.h"

namespace collbench {

/// A whole number from `least` to `most`.
std::int64_t parse_count(const std::string& label, const std::string& text, std::int64_t least,
                         std::int64_t most);

/// A decimal number.
double parse_number(const std::string& label, const std::string& text);

/// "1s", "500ms", "20us", "2min" or a number of seconds; above zero, at most a day.
Seconds parse_duration(const std::string& label, const std::string& text);

/// "2%" or "0.02", as a fraction above 0 and below 1.
double parse_fraction(const std::string& label, const std::string& text);

/// Words separated by commas; blanks around them are dropped. Refuses an empty list or word.
std::vector<std::string> parse_list(const std::string& label, const std::string& text);

/// Worker counts: a list of N, FIRST:LAST, or FIRST:LAST:xFACTOR; without repetition, as written.
std::vector<int> parse_worker_counts(const std::string& label, const std::string& text);

/// Numbers of processors as the kernel writes them: "0,2-5", in the order written.
std::vector<int> parse_cpu_list(const std::string& label, const std::string& text);

/// A size with parse_size, its message led by the label.
Bytes parse_size_option(const std::string& label, const std::string& text);

/// "64M:40GB/s" or "64M:40": the size and the least bus bandwidth (GB/s) it must reach.
struct BandwidthGate {
  Bytes bytes;
  Bandwidth least;
};
BandwidthGate parse_bandwidth_gate(const std::string& label, const std::string& text);

}  // namespace collbench
