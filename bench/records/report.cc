#include "bench/records/report.h"

#include <fmt/format.h>

namespace collbench {

std::string case_name(const Case& which) {
  std::string name = fmt::format("{}/{}", which.algorithm, which.backend);
  if (which.isolate) name += ".isolate";
  if (which.private_buffers) name += ".private";
  if (!which.transport.empty() && which.transport != "raw") name += "." + which.transport;
  if (which.checksum) name += ".checksum";
  if (!which.inject.empty()) name += "." + which.inject;
  name += fmt::format("/workers:{}/{}/{}/{}", which.workers, which.bytes.count,
                      to_string(which.type), to_string(which.op));
  if (!which.in_place) name += "/out-of-place";
  const Simulated& simulated = which.simulated;
  if (simulated.topology.empty()) return name;
  const Simulated usual;
  const auto add = [&](const char* key, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) name += fmt::format("/{}{}", key, value);
  };
  add("on:", simulated.topology, "");
  add("", simulated.collective, usual.collective);
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

std::int64_t element_count(const Case& which) { return which.bytes.count / size_of(which.type); }

bool is_right(const Record& record) {
  return record.measurement.wrong <= 0 && record.measurement.replicas_identical;
}

std::string wrong_text(const Record& record) {
  if (is_right(record)) return "";
  if (!record.measurement.replicas_identical) return "the ranks' results differ";
  return fmt::format("{} elements differ from the exact result", record.measurement.wrong);
}

}  // namespace collbench
