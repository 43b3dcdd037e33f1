#include "heuristics/policies/local_times.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

MeasuredTime time_of(std::string line) {
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream fields(line);
  MeasuredTime time;
  std::string cores;
  double median = 0;  // microseconds, as the quartiles
  double low = 0;
  double high = 0;
  fields >> time.library >> cores >> time.scale.ranks >> time.bytes.count >> time.algorithm >>
      median >> low >> high >> time.samples;
  require(!fields.fail(), fmt::format("local_times.csv: '{}' lacks a field", line));
  time.system = cores + " cores";
  time.scale.nodes = 1;
  time.low = Seconds{low * 1e-6};
  time.high = Seconds{high * 1e-6};
  time.time = (time.low + Seconds{2 * median * 1e-6} + time.high) / 4;
  time.in_place = true;
  return time;
}

std::vector<MeasuredTime> read_times() {
  std::vector<MeasuredTime> times;
  std::istringstream lines{std::string(local_times_files().front().text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != '#') times.push_back(time_of(line));
  }
  return times;
}

}  // namespace

std::vector<MeasuredTime> local_times(std::string_view backend, int cores) {
  static const std::vector<MeasuredTime> all = read_times();
  const std::string system = fmt::format("{} cores", cores);
  std::vector<MeasuredTime> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const MeasuredTime& time) {
    return time.library == backend && time.system == system;
  });
  return found;
}

}  // namespace collbench
