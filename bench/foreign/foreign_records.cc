// Measurements as records and back.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/records/report.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/parse.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

/// Fields that identify a record's measurements; a simulated case is on its own topology.
MeasuredTime row_of(const Record& record) {
  MeasuredTime row;
  row.library = record.point.backend;
  if (record.point.transport == "tf-recvbuf") row.library += " tf-recvbuf";
  row.algorithm = record.point.algorithm;
  row.scale = {record.point.workers, record.point.backend == "sim" ? 0 : 1};
  row.type = record.point.type;
  row.op = record.point.op;
  row.in_place = record.point.in_place;
  row.collective = record.point.collective;
  row.bytes = record.point.bytes;
  row.buffers = to_string(record.point.buffers);
  const Simulated& simulated = record.point.simulated;
  row.system = simulated.topology;
  if (!row.system.empty() && simulated.mapping != "row-major")
    row.system += " " + simulated.mapping;
  if (simulated.protocol != "auto") row.protocol = simulated.protocol;
  return row;
}

/// Why its time is not that of all ranks with equal shares; empty if it is.
std::string other_than_usual(const Case& point) {
  if (!point.counts.empty()) {
    return fmt::format("their shares are {} elements, not equal", point.counts);
  }
  if (group_size(point) == point.workers) return "";
  return fmt::format("their groups {} run side by side, not {} ranks together", point.groups,
                     point.workers);
}

/// What the ranks may run on: a run in a container or under taskset has fewer cores than its host.
int usable_cores_in(const Environment& environment) {
  const std::string affinity = value_of(environment, "affinity", "unknown");
  if (affinity != "unknown") return static_cast<int>(parse_cpu_list("affinity", affinity).size());
  const std::string cores = value_of(environment, "cores", "");
  return cores.empty() ? 0 : static_cast<int>(parse_count("cores", cores, 1, 1 << 20));
}

/// Whether ranks on one host do the work of their messages on its cores.
bool shares_cores(const Case& point) {
  const Backend* backend = backend_named(point.backend);
  return backend != nullptr && backend->plays_schedules && !backend->on_gpus;
}

}  // namespace

std::string no_table_text(const std::vector<std::string>& skipped) {
  const std::string nothing = "neither records nor a table of another benchmark";
  if (skipped.empty()) return nothing;
  return fmt::format("{}; of {} files the first says: {}", nothing, skipped.size(),
                     skipped.front());
}

RecordFile to_records(const MeasuredTable& table) {
  RecordFile file;
  file.environment["source"] = table.source.empty() ? table.name : table.source;
  for (const MeasuredTime& time : table.times) {
    Record record;
    record.point.algorithm = time.algorithm;
    read_backend_name(time.library.empty() ? "unknown" : time.library, record.point);
    record.point.workers = time.scale.ranks;
    record.point.bytes = time.bytes;
    record.point.type = time.type;
    record.point.op = time.op;
    record.point.in_place = time.in_place;
    record.point.collective = time.collective;
    record.point.root = time.root;
    record.point.groups = time.groups;
    record.point.counts = time.counts;
    record.point.buffers = time.buffers.empty() ? Buffers::hot : parse_buffers(time.buffers);
    record.algorithm_chosen = time.algorithm;
    record.measurement.latency_ns = {
        static_cast<std::int64_t>(std::llround(time.time.count() * 1e9))};
    record.point.statistic = time.mean ? "mean" : "median";
    record.measurement.wrong = time.wrong;
    record.measurement.played = time.library;
    if (record.point.backend == "sim") {
      record.point.simulated.topology = time.system;
      if (!time.protocol.empty()) record.point.simulated.protocol = time.protocol;
    } else if (!time.system.empty()) {
      file.environment["system"] = time.system;
    }
    if (time.scale.nodes > 0) file.environment["nodes"] = std::to_string(time.scale.nodes);
    file.records.push_back(std::move(record));
  }
  return file;
}

RecordFile read_as_records(const std::string& path, std::vector<std::string>& notes,
                           std::size_t* lost) {
  const bool is_file = names_a_file(path);
  const std::string text = is_file ? read_file(path) : "";  // once: a pipe has it only once
  try {
    if (is_file && foreign_format(text) == "collbench") return records_from_json(text);
    std::vector<std::string> skipped;
    const std::vector<MeasuredTable> tables =
        is_file ? std::vector{read_foreign(text, path)} : read_tables(path, skipped);
    require(!tables.empty(), no_table_text(skipped));
    RecordFile all = to_records(tables.front());
    for (std::size_t i = 1; i < tables.size(); ++i) {
      std::ranges::move(to_records(tables[i]).records, std::back_inserter(all.records));
    }
    for (const MeasuredTable& table : tables) {
      notes.insert(notes.end(), table.notes.begin(), table.notes.end());
    }
    for (const std::string& reason : skipped) notes.push_back("left out: " + reason);
    if (lost != nullptr) *lost = skipped.size();
    return all;
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(about_file(path, error.what()));
  }
}

MeasuredTable to_measurements(const RecordFile& file, const std::string& name) {
  MeasuredTable table;
  table.name = name;
  const auto stated = [&](const char* key) { return value_of(file.environment, key, ""); };
  table.source = stated("source").empty() ? stated("host") : stated("source");
  table.hardware = stated("gpu");
  if (!stated("host").empty()) table.hosts = {stated("host")};
  std::map<std::string, int> left_out;
  for (const Record& record : file.records) {
    MeasuredTime row = row_of(record);
    const Measurement& measured = record.measurement;
    if (!record.skipped.empty() || measured.latency_ns.empty()) {
      table.notes.push_back(
          fmt::format("{} of {} skipped: {}", row.algorithm, to_string(row.bytes), record.skipped));
      continue;
    }
    if (row.bytes.count <= 0) continue;
    if (const std::string other = other_than_usual(record.point); !other.empty()) {
      ++left_out[other];
      continue;
    }
    if (row.system.empty()) row.system = stated("system");
    const std::string nodes = stated("nodes");
    if (!nodes.empty() && record.point.backend != "sim") {
      row.scale.nodes = static_cast<int>(parse_count("nodes", nodes, 0, 1 << 24));
    }
    if (row.scale.nodes > row.scale.ranks) row.scale.nodes = 0;
    if (row.scale.nodes == 1 && shares_cores(record.point)) {
      row.scale.cores = usable_cores_in(file.environment);
    }
    row.wrong = measured.wrong;
    row.mean = record.point.statistic == "mean";
    const Summary summary = summarize(record);
    row.samples = record.point.statistic.empty() ? summary.n : 0;
    row.time = Seconds{summary.median_ns * 1e-9};
    row.low = Seconds{summary.p25_ns * 1e-9};
    row.high = Seconds{summary.p75_ns * 1e-9};
    if (measured.exact) row.time = row.low = row.high = measured.exact->time;
    if (row.time > Seconds{0}) table.times.push_back(std::move(row));
  }
  for (const auto& [why, records] : left_out) {
    table.notes.push_back(fmt::format("{} records left out: {}", records, why));
  }
  return table;
}

}  // namespace collbench
