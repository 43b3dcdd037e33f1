#include "bench/records/record_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "bench/records/whole_number.h"
#include "core/error.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

Json simulated_value(const Simulated& simulated) {
  if (simulated.topology.empty()) return nullptr;
  return {{"topology", simulated.topology},
          {"engine", simulated.engine},
          {"posting", simulated.posting},
          {"mapping", simulated.mapping},
          {"protocol", simulated.protocol},
          {"collective", simulated.collective},
          {"equal_chunks", simulated.equal_chunks},
          {"real_data", simulated.real_data},
          {"jitter_us", simulated.jitter.count() * 1e6},
          {"stragglers", simulated.stragglers},
          {"slow_hosts", simulated.slow_hosts},
          {"seed", simulated.seed}};
}

Simulated simulated_of(const Json& value) {
  Simulated simulated;
  value.at("topology").get_to(simulated.topology);
  value.at("engine").get_to(simulated.engine);
  value.at("posting").get_to(simulated.posting);
  value.at("mapping").get_to(simulated.mapping);
  value.at("protocol").get_to(simulated.protocol);
  value.at("collective").get_to(simulated.collective);
  value.at("equal_chunks").get_to(simulated.equal_chunks);
  value.at("real_data").get_to(simulated.real_data);
  simulated.jitter = Seconds{value.at("jitter_us").get<double>() * 1e-6};
  value.at("stragglers").get_to(simulated.stragglers);
  value.at("slow_hosts").get_to(simulated.slow_hosts);
  read_whole(value.at("seed"), simulated.seed);
  return simulated;
}

Json case_value(const Case& which) {
  Json value = {{"algorithm", which.algorithm},       {"backend", which.backend},
                {"workers", which.workers},           {"size_bytes", which.bytes.count},
                {"data_type", to_string(which.type)}, {"op", to_string(which.op)},
                {"in_place", which.in_place},         {"buffers", to_string(which.buffers)},
                {"isolate", which.isolate},           {"private_buffers", which.private_buffers},
                {"transport", which.transport}};
  if (which.checksum) value["checksum"] = true;
  if (!which.inject.empty()) value["inject"] = which.inject;
  if (!which.devices.empty()) value["devices"] = which.devices;
  if (const Json simulated = simulated_value(which.simulated); !simulated.is_null()) {
    value["simulated"] = simulated;
  }
  return value;
}

Case case_of(const Json& value) {
  Case which;
  value.at("algorithm").get_to(which.algorithm);
  value.at("backend").get_to(which.backend);
  read_whole(value.at("workers"), which.workers);
  read_whole(value.at("size_bytes"), which.bytes.count);
  which.type = parse_data_type(value.at("data_type").get<std::string>());
  which.op = parse_reduce_op(value.at("op").get<std::string>());
  value.at("in_place").get_to(which.in_place);
  which.buffers = parse_buffers(value.at("buffers").get<std::string>());
  value.at("isolate").get_to(which.isolate);
  value.at("private_buffers").get_to(which.private_buffers);
  value.at("transport").get_to(which.transport);
  which.devices = value.value("devices", std::string());
  which.checksum = value.value("checksum", false);
  which.inject = value.value("inject", std::string());
  if (value.contains("simulated")) which.simulated = simulated_of(value["simulated"]);
  return which;
}

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json summary_value(const Record& record) {
  if (record.measurement.latency_ns.empty()) return nullptr;
  const Summary summary = summarize(record.measurement.latency_ns);
  Json value = {{"samples", summary.n},
                {"median_ns", summary.median_ns},
                {"min_ns", summary.min_ns},
                {"p25_ns", summary.p25_ns},
                {"p75_ns", summary.p75_ns},
                {"p95_ns", summary.p95_ns},
                {"p99_ns", summary.p99_ns},
                {"interval_low_ns", summary.interval_low_ns},
                {"interval_high_ns", summary.interval_high_ns},
                {"algbw_GBps", nullptr},
                {"busbw_GBps", nullptr}};
  if (summary.median_ns > 0) {
    const Seconds median{summary.median_ns * 1e-9};
    value["algbw_GBps"] = finite(algorithm_bandwidth(record, median).bytes_per_second / 1e9);
    value["busbw_GBps"] = finite(bus_bandwidth(record, median).bytes_per_second / 1e9);
  }
  return value;
}

Json exact_value(const Exact& exact) {
  return {{"time_s", finite(exact.time.count())},
          {"engine", exact.engine},
          {"why", exact.why},
          {"messages", exact.messages},
          {"messages_played", exact.messages_played},
          {"rounds", exact.rounds},
          {"rank_classes", exact.rank_classes},
          {"busiest_link_bytes", finite(exact.busiest_link_bytes)},
          {"bottleneck", exact.bottleneck}};
}

Exact exact_of(const Json& value) {
  Exact exact;
  exact.time = Seconds{value.at("time_s").get<double>()};
  value.at("engine").get_to(exact.engine);
  value.at("why").get_to(exact.why);
  read_whole(value.at("messages"), exact.messages);
  read_whole(value.at("messages_played"), exact.messages_played);
  read_whole(value.at("rounds"), exact.rounds);
  read_whole(value.at("rank_classes"), exact.rank_classes);
  value.at("busiest_link_bytes").get_to(exact.busiest_link_bytes);
  value.at("bottleneck").get_to(exact.bottleneck);
  return exact;
}

Json record_value(const Record& record) {
  const Measurement& measured = record.measurement;
  Json value = {{"case", case_value(record.which)},
                {"algorithm_chosen", record.algorithm_chosen},
                {"choice_reason", record.choice_reason},
                {"played", measured.played},
                {"started", record.started},
                {"skipped", record.skipped.empty() ? Json(nullptr) : Json(record.skipped)},
                {"wrong_elements", measured.wrong < 0 ? Json(nullptr) : Json(measured.wrong)},
                {"replicas_identical", measured.replicas_identical},
                {"warnings", measured.warnings},
                {"bound", nullptr},
                {"summary", summary_value(record)},
                {"latency_ns", measured.latency_ns},
                {"skew_ns", measured.skew_ns},
                {"back_to_back_ns", measured.back_to_back_ns}};
  if (record.bound) {
    value["bound"] = {{"time_ns", finite(record.bound->time.count() * 1e9)},
                      {"reason", record.bound->reason}};
  }
  if (measured.estimate) {
    value["estimate"] = {{"time_ns", finite(measured.estimate->time.count() * 1e9)},
                         {"by", measured.estimate->by}};
  }
  if (measured.exact) value["exact"] = exact_value(*measured.exact);
  return value;
}

// Times are in nanoseconds: the same key in another unit, beside ours or instead, is refused.
void check_units(const Json& record) {
  for (const std::string ours : {"latency_ns", "skew_ns", "back_to_back_ns"}) {
    const std::string stem = ours.substr(0, ours.rfind('_') + 1);
    for (const auto& [key, unused] : record.items()) {
      require(key == ours || key.rfind(stem, 0) != 0,
              "'" + key + "' is in another unit than '" + ours + "'");
    }
  }
}

Record record_of(const Json& value) {
  check_units(value);
  Record record;
  record.which = case_of(value.at("case"));
  value.at("algorithm_chosen").get_to(record.algorithm_chosen);
  value.at("choice_reason").get_to(record.choice_reason);
  value.at("started").get_to(record.started);
  if (!value.at("skipped").is_null()) value.at("skipped").get_to(record.skipped);
  Measurement& measured = record.measurement;
  value.at("played").get_to(measured.played);
  const Json& wrong = value.at("wrong_elements");
  if (!wrong.is_null()) read_whole(wrong, measured.wrong);
  value.at("replicas_identical").get_to(measured.replicas_identical);
  value.at("warnings").get_to(measured.warnings);
  read_whole(value.at("latency_ns"), measured.latency_ns);
  read_whole(value.at("skew_ns"), measured.skew_ns);
  read_whole(value.at("back_to_back_ns"), measured.back_to_back_ns);
  if (value.contains("estimate") && !value["estimate"].at("time_ns").is_null()) {
    const Json& estimate = value["estimate"];
    measured.estimate = Forecast{Seconds{estimate.at("time_ns").get<double>() * 1e-9},
                                 estimate.at("by").get<std::string>()};
  }
  if (value.contains("exact")) measured.exact = exact_of(value["exact"]);
  const Json& bound = value.at("bound");
  if (!bound.is_null() && !bound.at("time_ns").is_null()) {
    record.bound = Bound{Seconds{bound.at("time_ns").get<double>() * 1e-9},
                         bound.at("reason").get<std::string>()};
  }
  return record;
}

void check_version(const Json& head) {
  int version = 0;
  read_whole(head.at("schema_version"), version);
  require(version == record_schema_version, "records of schema version " + std::to_string(version) +
                                                "; this collbench reads " +
                                                std::to_string(record_schema_version));
}

// Runs a reader; what nlohmann-json says about the place becomes our error.
template <typename Reader>
auto reading(Reader reader) {
  try {
    return reader();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(std::string("not a record file of collbench: ") + error.what());
  }
}

// Text that is not UTF-8 (a host name, a path) must not lose a measurement.
std::string dump(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

// The outermost `levels` of a value: dump() follows whatever depth a file has, on the stack.
Json shallow(const Json& value, int levels) {
  if (value.is_primitive()) return value;
  if (!value.is_object() || levels == 0) return "...";
  Json kept = Json::object();
  for (const auto& [key, inner] : value.items()) kept[key] = shallow(inner, levels - 1);
  return kept;
}

// Names the record by its place, from 1, and its case where that much can be read.
Record record_at(const Json& value, std::size_t place) {
  const auto where = [&] {
    std::string text = "record " + std::to_string(place);
    if (value.is_object() && value.contains("case")) text += " " + dump(shallow(value["case"], 2));
    return text + ": ";
  };
  try {
    return record_of(value);
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument("not a record of collbench: " + where() + error.what());
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(where() + error.what());
  }
}

RecordFile records_of_lines(const std::string& text) {
  RecordFile file;
  std::size_t start = 0;
  // Only what ends in a line end was written whole.
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = text.substr(start, end - start);
    if (!Json::accept(line)) {  // NaN is no JSON either
      throw InvalidArgument("not a record file of collbench: line " +
                            std::to_string(file.records.size() + (start == 0 ? 1 : 2)) +
                            " is no JSON: " + line.substr(0, 60));
    }
    const Json value = Json::parse(line);
    if (start == 0) {
      check_version(value);
      value.at("environment").get_to(file.environment);
    } else {
      file.records.push_back(record_at(value, file.records.size() + 1));
    }
  }
  return file;
}

}  // namespace

std::string to_json(const Record& record) { return dump(record_value(record)); }

std::string to_json(const RecordFile& file) {
  Json records = Json::array();
  for (const Record& record : file.records) records.push_back(record_value(record));
  return dump({{"schema_version", record_schema_version},
               {"environment", file.environment},
               {"records", std::move(records)}},
              1) +
         "\n";
}

std::string to_json(const Case& which) { return dump(case_value(which)); }

std::string environment_line(const Environment& environment) {
  return dump({{"schema_version", record_schema_version}, {"environment", environment}});
}

Record record_from_json(const std::string& text) {
  return reading([&] { return record_of(Json::parse(text)); });
}

Case case_from_json(const std::string& text) {
  return reading([&] { return case_of(Json::parse(text)); });
}

RecordFile records_from_json(const std::string& text) {
  return reading([&] {
    // The single object is indented, so its first line alone is no JSON; a lone environment line
    // is.
    if (Json::accept(text.substr(0, text.find('\n'))) &&
        !Json::parse(text.substr(0, text.find('\n'))).contains("records")) {
      return records_of_lines(text);
    }
    const Json value = Json::parse(text);
    check_version(value);
    RecordFile file;
    value.at("environment").get_to(file.environment);
    for (const Json& record : value.at("records")) {
      file.records.push_back(record_at(record, file.records.size() + 1));
    }
    return file;
  });
}

}  // namespace collbench
