#include "bench/records/record_json.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/records/case_fields.h"
#include "bench/records/json_checksum.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int record_schema_version = 1;
constexpr int most_recorded_workers = 1 << 24;

Json case_value(const Case& point) {
  Json value = written_fields<Json>(point, case_fields());
  if (!point.simulated.topology.empty()) {
    value["simulated"] = written_fields<Json>(point.simulated, simulated_fields());
  }
  return value;
}

Case case_of(const Json& value) {
  Case point = read_fields(value, case_fields());
  require(point.workers >= 1, fmt::format("workers is {}; 1 or more", point.workers));
  require(point.workers <= most_recorded_workers,
          fmt::format("workers is {}; at most {}", point.workers, most_recorded_workers));
  require(point.bytes.count >= 0, fmt::format("size_bytes is {}; 0 or more", point.bytes.count));
  require(point.calls >= 1, fmt::format("calls is {}; 1 or more", point.calls));
  if (value.contains("simulated")) {
    const Json& simulated = value["simulated"];
    point.simulated = read_fields(simulated, simulated_fields());
    // Where records before version 1.1 said it.
    if (simulated.contains("collective")) {
      point.collective = parse_collective(simulated["collective"].get<std::string>());
    }
  }
  return point;
}

Json summary_value(const Record& record) {
  // Another benchmark's table has one figure, which has no quantiles.
  if (record.measurement.latency_ns.empty() || !record.point.statistic.empty()) return nullptr;
  const Summary summary = summarize(record);
  Json value = {{"samples", summary.n},
                {"median_ns", summary.median_ns},
                {"min_ns", summary.min_ns},
                {"p25_ns", summary.p25_ns},
                {"p75_ns", summary.p75_ns},
                {"p95_ns", summary.p95_ns},
                {"p99_ns", summary.p99_ns},
                {"interval_low_ns", finite_or_null<Json>(summary.interval_low_ns)},
                {"interval_high_ns", finite_or_null<Json>(summary.interval_high_ns)},
                {"algbw_GBps", nullptr},
                {"busbw_GBps", nullptr}};
  if (summary.median_ns > 0) {
    const Seconds median{summary.median_ns * 1e-9};
    value["algbw_GBps"] =
        finite_or_null<Json>(algorithm_bandwidth(record, median).bytes_per_second / 1e9);
    value["busbw_GBps"] =
        finite_or_null<Json>(bus_bandwidth(record, median).bytes_per_second / 1e9);
  }
  return value;
}

std::span<const JsonField<Exact>> exact_fields() {
  static const JsonField<Exact> fields[] = {
      {"time_s", &Exact::time},
      {"engine", &Exact::engine},
      {"why", &Exact::why},
      {"messages", &Exact::messages},
      {"messages_played", &Exact::messages_played},
      {"rounds", &Exact::rounds},
      {"rank_classes", &Exact::rank_classes},
      {"busiest_link_bytes", &Exact::busiest_link_bytes},
      {"bottleneck", &Exact::bottleneck},
  };
  return fields;
}

Json record_value(const Record& record) {
  const Measurement& measured = record.measurement;
  Json value = {{"case", case_value(record.point)},
                {"algorithm_chosen", record.algorithm_chosen},
                {"choice_reason", record.choice_reason},
                {"played", measured.played},
                {"started", record.started},
                {"skipped", record.skipped.empty() ? Json(nullptr) : Json(record.skipped)},
                {"wrong_elements", measured.wrong < 0 ? Json(nullptr) : Json(measured.wrong)},
                {"each_iteration_checked", measured.each_checked},
                {"replicas_identical", measured.replicas_identical},
                {"warnings", measured.warnings},
                {"bound", nullptr},
                {"summary", summary_value(record)},
                {"latency_ns", measured.latency_ns},
                {"skew_ns", measured.skew_ns},
                {"back_to_back_ns", measured.back_to_back_ns}};
  if (record.bound) {
    value["bound"] = {{"time_ns", finite_or_null<Json>(record.bound->time.count() * 1e9)},
                      {"reason", record.bound->reason}};
  }
  if (measured.estimate) {
    value["estimate"] = {{"time_ns", finite_or_null<Json>(measured.estimate->time.count() * 1e9)},
                         {"by", measured.estimate->by}};
  }
  if (!measured.rank_time_ns.empty()) value["rank_time_ns"] = measured.rank_time_ns;
  if (measured.exact) value["exact"] = written_fields<Json>(*measured.exact, exact_fields());
  add_checksum(value);
  return value;
}

// Times are in nanoseconds: the same key in another unit, beside ours or instead, is refused.
void check_units(const Json& record) {
  for (const std::string ours : {"latency_ns", "skew_ns", "back_to_back_ns", "rank_time_ns"}) {
    const std::string stem = ours.substr(0, ours.rfind('_') + 1);
    for (const auto& [key, unused] : record.items()) {
      require(key == ours || key.rfind(stem, 0) != 0,
              "'" + key + "' is in another unit than '" + ours + "'");
    }
  }
}

// A skew may be negative, a latency or an element count cannot.
void check_times(const Measurement& measured) {
  for (const auto* times :
       {&measured.latency_ns, &measured.back_to_back_ns, &measured.rank_time_ns}) {
    for (const auto time : *times) {
      require(time >= 0, fmt::format("a latency of {} ns; 0 or more", time));
    }
  }
}

Record record_of(const Json& value) {
  check_units(value);
  check_whole(value);
  Record record;
  record.point = case_of(value.at("case"));
  value.at("algorithm_chosen").get_to(record.algorithm_chosen);
  value.at("choice_reason").get_to(record.choice_reason);
  value.at("started").get_to(record.started);
  if (!value.at("skipped").is_null()) value.at("skipped").get_to(record.skipped);
  Measurement& measured = record.measurement;
  value.at("played").get_to(measured.played);
  const Json& wrong = value.at("wrong_elements");
  if (!wrong.is_null()) read_whole(wrong, measured.wrong);
  measured.each_checked = value.value("each_iteration_checked", false);
  value.at("replicas_identical").get_to(measured.replicas_identical);
  value.at("warnings").get_to(measured.warnings);
  read_whole(value.at("latency_ns"), measured.latency_ns);
  read_whole(value.at("skew_ns"), measured.skew_ns);
  read_whole(value.at("back_to_back_ns"), measured.back_to_back_ns);
  if (value.contains("rank_time_ns")) {
    read_whole(value.at("rank_time_ns"), measured.rank_time_ns);
    const auto expected =
        measured.latency_ns.size() * static_cast<std::size_t>(record.point.workers);
    require(
        measured.rank_time_ns.size() == expected,
        fmt::format("{} times of ranks for {} iterations of {} ranks", measured.rank_time_ns.size(),
                    measured.latency_ns.size(), record.point.workers));
  }
  check_times(measured);
  if (value.contains("estimate") && !value["estimate"].at("time_ns").is_null()) {
    const Json& estimate = value["estimate"];
    measured.estimate = Forecast{Seconds{estimate.at("time_ns").get<double>() * 1e-9},
                                 estimate.at("by").get<std::string>()};
  }
  if (value.contains("exact")) {
    measured.exact = read_fields(value["exact"], exact_fields());
    const double time_s = measured.exact->time.count();
    require(time_s >= 0, fmt::format("exact time_s is {}; 0 or more", time_s));
  }
  const Json& bound = value.at("bound");
  if (!bound.is_null() && !bound.at("time_ns").is_null()) {
    record.bound = Bound{Seconds{bound.at("time_ns").get<double>() * 1e-9},
                         bound.at("reason").get<std::string>()};
  }
  return record;
}

// Version and environment of a file, with a checksum of their own beside those of the records.
Json head_value(const Environment& environment) {
  Json head = {{"schema_version", record_schema_version}, {"environment", environment}};
  add_checksum(head);
  return head;
}

Environment environment_of(const Json& file) {
  int version = 0;
  read_whole(file.at("schema_version"), version);
  require(version == record_schema_version, "records of schema version " + std::to_string(version) +
                                                "; this collbench reads " +
                                                std::to_string(record_schema_version));
  Json head = {{"schema_version", version}, {"environment", file.at("environment")}};
  if (file.contains(checksum_key)) head[checksum_key] = file[checksum_key];
  check_whole(head);
  return head["environment"].get<Environment>();
}

constexpr std::string_view not_records = "not a record file of collbench";

// The outermost `levels` of a value: json_text() follows whatever depth a file has, on the stack.
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
    if (value.is_object() && value.contains("case"))
      text += " " + json_text(shallow(value["case"], 2));
    return text + ": ";
  };
  try {
    return record_of(value);
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument("not a record of collbench: " + where() + library_reason(error));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(where() + error.what());
  }
}

RecordFile records_of_lines(const std::string& text) {
  RecordFile file;
  std::size_t start = 0;
  for (std::size_t end = 0; start < text.size(); start = end + 1) {
    end = std::min(text.find('\n', start), text.size());
    // A last line without its end may have been cut short by a kill; what is JSON is whole.
    if (end == text.size() && try_parse_json<Json>(text.substr(start)).is_discarded()) break;
    const std::string_view line = std::string_view(text).substr(start, end - start);
    const std::size_t number = file.records.size() + (start == 0 ? 1 : 2);
    read_json<Json>(line, fmt::format("{}: line {}", not_records, number), [&](const Json& value) {
      if (start == 0) {
        file.environment = environment_of(value);
      } else {
        file.records.push_back(record_at(value, file.records.size() + 1));
      }
    });
  }
  return file;
}

}  // namespace

std::string to_json(const Record& record) { return json_text(record_value(record)); }

std::string to_json(const RecordFile& file) {
  std::vector<std::string> lines;
  for (const Record& record : file.records) lines.push_back(to_json(record));
  return records_json(file.environment, lines);
}

std::string records_json(const Environment& environment, const std::vector<std::string>& records) {
  std::string text = json_text(head_value(environment), 1);
  text.replace(text.rfind("\n}"), 2, ",\n \"records\": [");
  return text +
         fmt::format("{}{}\n]\n}}\n", records.empty() ? "" : "\n", fmt::join(records, ",\n"));
}

std::string to_json(const Case& point) { return json_text(case_value(point)); }

std::string environment_line(const Environment& environment) {
  return json_text(head_value(environment));
}

Record record_from_json(const std::string& text) {
  return read_json<Json>(text, not_records, record_of);
}

Case case_from_json(const std::string& text) { return read_json<Json>(text, not_records, case_of); }

RecordFile records_from_json(const std::string& text) {
  // The single object is indented, so its first line alone is no JSON; a lone environment line is.
  const std::string first = text.substr(0, text.find('\n'));
  const Json line = try_parse_json<Json>(first);
  if (!line.is_discarded() && !line.contains("records")) return records_of_lines(text);
  return read_json<Json>(text, not_records, [&](const Json& value) {
    RecordFile file{environment_of(value), {}};
    for (const Json& record : value.at("records")) {
      file.records.push_back(record_at(record, file.records.size() + 1));
    }
    return file;
  });
}

}  // namespace collbench
