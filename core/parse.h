// Text of users and files as numbers: counts, durations, fractions, lists, ranges.
//
// The whole text must be the value, so "8x" is no count, and nothing is infinite or "nan". A
// function whose name begins with parse_ takes a label, such as the name of an option, and throws
// InvalidArgument that names label, text and what would be right. Sizes and rates without a label
// are in core/units.h.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"

namespace collbench {

/// The whole number that `text` is, if it is one from `least` to `most`: for readers of files that
/// have complaints of their own.
std::optional<std::int64_t> integer_in(
    std::string_view text, std::int64_t least = 0,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());
/// The same as an int.
std::optional<int> small_integer_in(std::string_view text, int least = 0,
                                    int most = std::numeric_limits<int>::max());
/// The finite decimal number that `text` is, if it is one from `least` to `most`.
std::optional<double> number_in(std::string_view text,
                                double least = std::numeric_limits<double>::lowest(),
                                double most = std::numeric_limits<double>::max());

/// A whole number from `least` to `most`.
std::int64_t parse_count(const std::string& label, const std::string& text, std::int64_t least,
                         std::int64_t most);

/// A decimal number.
double parse_number(const std::string& label, const std::string& text);

/// "500ms", "90s", "5m", "1h30m" or a number of seconds; above zero, at most a day.
Seconds parse_positive_duration(const std::string& label, const std::string& text);

/// "2%" or "0.02", as a fraction above 0 and below 1.
double parse_fraction(const std::string& label, const std::string& text);

/// Words separated by commas; blanks around them are dropped. Refuses an empty list or word.
std::vector<std::string> parse_list(const std::string& label, const std::string& text);

/// Worker counts: a list of N, FIRST:LAST, or FIRST:LAST:xFACTOR; without repetition, as written.
std::vector<int> parse_worker_counts(const std::string& label, const std::string& text);

/// Whole numbers from 0 to `most` as the kernel writes those of processors: "0,2-5", in the order
/// written, of which there are no more than most + 1.
std::vector<int> parse_ranges(const std::string& label, const std::string& text, int most);

/// Such numbers of processors as a set of the C library can hold.
std::vector<int> parse_cpu_list(const std::string& label, const std::string& text);

/// `text` without blanks, tabs and ends of lines around it.
std::string_view trimmed(std::string_view text);
/// The parts of `text` between separators: one if there is none in it.
std::vector<std::string> split_at(std::string_view text, char separator);
/// Gives each line of `text` without its end.
void for_each_line(std::string_view text, const std::function<void(std::string_view line)>& take);
/// The words of `text` between any number of blanks and tabs.
std::vector<std::string_view> split_at_blanks(std::string_view text);

/// A size with parse_size, its message led by the label.
Bytes parse_size_option(const std::string& label, const std::string& text);

/// "64M:40GB/s" or "64M:40": the size and the least bus bandwidth (GB/s) it must reach.
struct BandwidthGate {
  Bytes bytes;
  Bandwidth least;
};
BandwidthGate parse_bandwidth_gate(const std::string& label, const std::string& text);

}  // namespace collbench
