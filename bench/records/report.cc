#include "bench/records/report.h"

#include <algorithm>

#include <fmt/format.h>

#include "transports/world/backend.h"

namespace collbench {

std::string backend_name(const Case& point) {
  std::string name = point.backend;
  if (point.isolate) name += ".isolate";
  if (point.private_buffers) name += ".private";
  if (!point.transport.empty() && point.transport != "raw") name += "." + point.transport;
  if (point.checksum) name += ".checksum";
  if (!point.inject.empty()) name += "." + point.inject;
  return name;
}

void read_backend_name(std::string_view name, Case& point) {
  const Backend* const backend = backend_named(name.substr(0, name.find('.')));
  point.backend = backend == nullptr ? name : backend->name;
  if (backend == nullptr) return;
  const auto is_transport = [&](std::string_view word) {
    return std::ranges::find(backend->transports, word) != backend->transports.end() ||
           (backend->transports.empty() && !backend->transport_option.empty());
  };
  for (std::size_t dot = name.find('.'); dot != name.npos;) {
    name.remove_prefix(dot + 1);
    dot = name.find('.');
    const std::string_view word = name.substr(0, dot);
    if (word == "isolate") {
      point.isolate = true;
    } else if (word == "private") {
      point.private_buffers = true;
    } else if (word == "checksum") {
      point.checksum = true;
    } else if (is_transport(word)) {
      point.transport = word;
    } else {  // faults are the last, and may hold dots
      point.inject = name;
      return;
    }
  }
}

std::string case_name(const Case& point) {
  if (point.backend.empty()) return point.algorithm;  // of another program: its name is all
  std::string name =
      fmt::format("{}/{}/workers:{}/{}/{}/{}", point.algorithm, backend_name(point), point.workers,
                  point.bytes.count, to_string(point.type), to_string(point.op));
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
