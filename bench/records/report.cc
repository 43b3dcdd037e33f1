#include "bench/records/report.h"

#include <fmt/format.h>

namespace collbench {

std::string case_name(const Case& point) {
  if (point.backend.empty()) return point.algorithm;  // of another program: its name is all
  std::string name = fmt::format("{}/{}", point.algorithm, point.backend);
  if (point.isolate) name += ".isolate";
  if (point.private_buffers) name += ".private";
  if (!point.transport.empty() && point.transport != "raw") name += "." + point.transport;
  if (point.checksum) name += ".checksum";
  if (!point.inject.empty()) name += "." + point.inject;
  name += fmt::format("/workers:{}/{}/{}/{}", point.workers, point.bytes.count,
                      to_string(point.type), to_string(point.op));
  if (!point.in_place) name += "/out-of-place";
  std::string collective;
  if (point.collective != CollectiveKind::all_reduce) {
    collective = fmt::format("/{}", to_string(point.collective));
    if (point.root != 0) collective += fmt::format(":{}", point.root);
  }
  if (!point.groups.empty()) collective += "/groups:" + point.groups;
  if (!point.counts.empty()) collective += "/counts:" + point.counts;
  const Simulated& simulated = point.simulated;
  if (simulated.topology.empty()) return name + collective;
  const Simulated usual;
  const auto add = [&](const char* key, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) name += fmt::format("/{}{}", key, value);
  };
  add("on:", simulated.topology, "");
  name += collective;
  add("", simulated.posting, usual.posting);
  add("mapping:", simulated.mapping, usual.mapping);
  add("protocol:", simulated.protocol, usual.protocol);
  add("stragglers:", simulated.stragglers, "");
  add("slow:", simulated.slow_hosts, "");
  if (simulated.jitter.count() > 0) {
    name += fmt::format("/jitter:{}:{}", to_string(simulated.jitter), simulated.seed);
  }
  if (simulated.equal_chunks) name += "/equal-chunks";
  return name;
}

std::int64_t element_count(const Case& point) { return point.bytes.count / size_of(point.type); }

bool is_right(const Record& record) {
  return record.measurement.wrong <= 0 && record.measurement.replicas_identical;
}

std::string wrong_text(const Record& record) {
  if (is_right(record)) return "";
  if (!record.measurement.replicas_identical) return "the ranks' results differ";
  return fmt::format("{} elements differ from the exact result", record.measurement.wrong);
}

}  // namespace collbench
