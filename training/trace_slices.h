// Slices of time as a trace for ui.perfetto.dev, chrome://tracing and speedscope: two rows, what is
// computed and the all-reduces beside it.
//
// Times are microseconds. Source: Trace Event Format, Google 2016, events "X" and "M".
#pragma once

#include <iosfwd>
#include <string_view>

#include "core/units.h"

namespace collbench {

enum class TraceRow : int { computation = 0, all_reduces = 1 };

/// Thread safety: none. Names must need no escapes in JSON.
class TraceSlices {
 public:
  explicit TraceSlices(std::ostream& out);
  /// `arguments` is a JSON object.
  void add(TraceRow row, std::string_view name, std::string_view category, Seconds begin,
           Seconds end, std::string_view arguments = "{}");
  /// Ends the file; `other` is a JSON object of what concerns the whole.
  void finish(std::string_view other);

 private:
  void name_row(TraceRow row, std::string_view text);

  std::ostream& out_;
};

}  // namespace collbench
