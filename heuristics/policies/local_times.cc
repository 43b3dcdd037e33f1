#include "heuristics/policies/local_times.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

class TimesRow {
 public:
  TimesRow(std::string_view line, const std::string& where) : line_(line), where_(where) {}

  std::string word() {
    const std::size_t end = std::min(line_.find(','), line_.size());
    require(!line_.empty() && end > 0, fmt::format("{}: a field is missing", where_));
    std::string field(line_.substr(0, end));
    line_.remove_prefix(std::min(end + 1, line_.size()));
    return field;
  }

  template <typename Number>
  Number number(const char* what) {
    const std::string field = word();
    const auto value = number_in(field, 0, 999'999'999);
    const bool is_whole = std::is_floating_point_v<Number> || integer_in(field).has_value();
    require(value && *value > 0 && is_whole,
            fmt::format("{}: {} '{}' must be a number above 0", where_, what, field));
    return static_cast<Number>(*value);
  }

  void expect_end() const {
    require(line_.empty(), fmt::format("{}: '{}' is beyond the last field", where_, line_));
  }

 private:
  std::string_view line_;
  std::string where_;
};

MeasuredTime parse_row(std::string_view line, const std::string& where) {
  TimesRow row(line, where);
  MeasuredTime time;
  time.library = row.word();
  time.system = fmt::format("{} cores", row.number<int>("cores"));
  time.scale = {row.number<int>("workers"), 1};
  time.bytes.count = row.number<int>("bytes");
  time.algorithm = row.word();
  const double median = row.number<double>("the median") * 1e-6;
  time.low = Seconds{row.number<double>("the lower quartile") * 1e-6};
  time.high = Seconds{row.number<double>("the upper quartile") * 1e-6};
  time.time = (time.low + Seconds{2 * median} + time.high) / 4;
  time.samples = row.number<int>("samples");
  time.in_place = true;
  row.expect_end();
  return time;
}

}  // namespace

std::vector<MeasuredTime> parse_local_times(std::string_view text, const std::string& file) {
  std::vector<MeasuredTime> times;
  int number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    ++number;
    start = end + 1;
    if (line.empty() || line.front() == '#') continue;
    times.push_back(parse_row(line, fmt::format("{}:{}", file, number)));
  }
  return times;
}

std::vector<MeasuredTime> local_times(std::string_view backend, int cores) {
  static const std::vector<MeasuredTime> all =
      parse_local_times(local_times_files().front().text, "local_times.csv");
  const std::string system = fmt::format("{} cores", cores);
  std::vector<MeasuredTime> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const MeasuredTime& time) {
    return time.library == backend && time.system == system;
  });
  return found;
}

}  // namespace collbench
