// Numbers and cells as tables show them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/records/record.h"

namespace collbench {

/// A finite number with `digits` significant digits, but at most 6 after the point, in plain
/// notation: "0.02512", "402.6", "12346".
std::string significant(double value, int digits = 4);

/// How many characters a text has; a UTF-8 sequence is one.
std::size_t characters(std::string_view text);

/// `text` with blanks before (right) or after it (left), to `width` characters.
std::string align_right(std::string_view text, std::size_t width);
std::string align_left(std::string_view text, std::size_t width);

/// Rows of equally many cells as lines whose columns are two blanks apart, without blanks at their
/// ends; columns for which `is_left` holds begin together, others end together.
std::vector<std::string> aligned_lines(const std::vector<std::vector<std::string>>& rows,
                                       const std::function<bool(std::size_t column)>& is_left);

/// Text that Markdown shows as it is, on one line. Angle brackets would begin HTML, a bar the next
/// cell.
std::string escaped_for_markdown(std::string_view text);

/// Each byte that is not of UTF-8, or of U+FFFE or U+FFFF, which XML refuses too, as U+FFFD.
std::string with_whole_characters(std::string_view text);

/// Cuts Markdown to `most_bytes` at the end of a line and adds a note that says where the rest is.
std::string fitted_markdown(std::string text, std::size_t most_bytes);

/// "398 us", "1.213 ms": four digits in the unit that suits.
std::string time_text(Seconds time);

/// The figures of a record that a table shows. All zero, and `valid` false, for a skipped record.
/// What another benchmark's table does not say is NaN, and `n` 0.
struct Figures {
  bool valid = false;
  Summary latency;
  double time_us = 0;  // the median, the simulated time, or the one that a foreign table states
  double median_us = 0;
  double p95_us = 0;
  double interval_percent = 0;  // half of the 95 % interval over the median; NaN: n is below 6
  double algbw_GBps = 0;
  double busbw_GBps = 0;
};
Figures figures(const Record& record);

}  // namespace collbench
