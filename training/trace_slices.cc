#include "training/trace_slices.h"

#include <ostream>

#include <fmt/format.h>

namespace collbench {

TraceSlices::TraceSlices(std::ostream& out) : out_(out) {
  out_ << "{\"traceEvents\":[\n";
  name_row(TraceRow::computation, "computation");
  out_ << ",\n";
  name_row(TraceRow::all_reduces, "all-reduces");
}

void TraceSlices::add(TraceRow row, std::string_view name, std::string_view category, Seconds begin,
                      Seconds end, std::string_view arguments) {
  out_ << fmt::format(
      ",\n{{\"name\":\"{}\",\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{:.3f},\"dur\":{:.3f},"
      "\"pid\":0,\"tid\":{},\"args\":{}}}",
      name, category, begin.count() * 1e6, (end - begin).count() * 1e6, static_cast<int>(row),
      arguments);
}

void TraceSlices::finish(std::string_view other) {
  out_ << fmt::format("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{}}}\n", other);
}

void TraceSlices::name_row(TraceRow row, std::string_view text) {
  out_ << fmt::format(
      "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":{},\"args\":{{\"name\":\"{}\"}}}}",
      static_cast<int>(row), text);
}

}  // namespace collbench
