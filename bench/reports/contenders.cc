#include "bench/reports/contenders.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "bench/records/report.h"
#include "bench/reports/columns.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

// bench/reports/html/charts.js has the same.
constexpr std::string_view bright[chart_colours] = {"#4477AA", "#EE6677", "#228833", "#CCBB44",
                                                    "#66CCEE", "#BBBBBB", "#AA3377"};

bool is_real(const Case& point) { return point.simulated.topology.empty(); }

/// The schedules, then the libraries' own algorithms, then everything else.
std::size_t known_place(const std::string& algorithm) {
  const std::string name = algorithm.substr(0, algorithm.find(':'));
  const auto schedules = algorithms();
  const auto schedule = std::ranges::find(schedules, name, &AlgorithmInfo::name);
  const auto place = static_cast<std::size_t>(schedule - schedules.begin());
  if (schedule != schedules.end()) return place;
  const auto rows = backends();
  return place +
         static_cast<std::size_t>(std::ranges::find(rows, name, &Backend::name) - rows.begin());
}

}  // namespace

bool backends_differ(const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const Case& point : cases) {
    if (is_real(point)) names.insert(backend_text(point));
  }
  return names.size() > 1;
}

std::string contender_name(const Case& point, bool with_backend) {
  if (!with_backend || !is_real(point) || black_box(point.algorithm) != nullptr) {
    return point.algorithm;
  }
  return point.algorithm + "@" + backend_text(point);
}

std::string contest_setting(Case point) {
  point.algorithm = point.backend = "any";
  point.transport = point.devices = "";
  point.isolate = point.private_buffers = false;
  point.bytes = {0};
  return fmt::format("{}/{}", case_name(point), to_string(point.buffers));
}

SettingNames::SettingNames(const std::vector<Case>& all) {
  if (all.empty()) return;
  const auto first = words(all.front());
  for (const Case& point : all) {
    const auto own = words(point);
    for (std::size_t i = 0; i < choices; ++i) differs_[i] = differs_[i] || own[i] != first[i];
  }
}

std::array<std::string, SettingNames::choices> SettingNames::words(const Case& point) {
  const Simulated& simulated = point.simulated;
  const auto or_none = [](const std::string& value, const char* what) {
    return value.empty() ? fmt::format("no {}", what) : fmt::format("{} {}", what, value);
  };
  std::string collective(to_string(point.collective));
  if (has_root(point.collective)) collective += fmt::format(" of rank {}", point.root);
  return {fmt::format("{} workers", point.workers),
          point.in_place ? "in place" : "out of place",
          std::string(to_string(point.type)),
          is_real(point) ? "real" : simulated.topology,
          std::string(to_string(point.op)),
          collective,
          or_none(point.groups, "groups"),
          or_none(point.counts, "counts"),
          fmt::format("{} buffers", to_string(point.buffers)),
          point.checksum ? "with checksums" : "without checksums",
          or_none(point.inject, "faults"),
          fmt::format("{}, {} mapping, {} protocol", simulated.posting, simulated.mapping,
                      simulated.protocol),
          or_none(simulated.stragglers, "stragglers"),
          or_none(simulated.slow_hosts, "slow hosts"),
          fmt::format("jitter {} (seed {})", to_string(simulated.jitter), simulated.seed),
          simulated.equal_chunks ? "equal chunks" : "chunks of whole elements"};
}

std::string SettingNames::text_from(std::size_t first, const Case& point) const {
  const auto own = words(point);
  std::string text;
  for (std::size_t i = first; i < choices; ++i) {
    if (differs_[i]) text += ", " + own[i];
  }
  return text;
}

std::string SettingNames::text(const Case& point) const { return text_from(0, point); }
std::string SettingNames::beside_title(const Case& point) const { return text_from(titled, point); }

std::string_view chart_colour(std::size_t place) { return bright[place % chart_colours]; }

std::map<std::string, std::size_t> algorithm_places(const std::vector<Case>& cases) {
  std::set<std::pair<std::size_t, std::string>> ordered;
  for (const Case& point : cases) ordered.emplace(known_place(point.algorithm), point.algorithm);
  std::map<std::string, std::size_t> places;
  std::set<std::size_t> taken;
  for (const auto& [known, algorithm] : ordered) {
    // The place of its own or the next free one, first among those of different colours.
    for (std::size_t tried = 0; !places.contains(algorithm); ++tried) {
      const std::size_t lap = tried / chart_colours;
      const std::size_t place = lap * chart_colours + (known + tried) % chart_colours;
      if (taken.insert(place).second) places[algorithm] = place;
    }
  }
  return places;
}

}  // namespace collbench
