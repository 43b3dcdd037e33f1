#include "bench/reports/diagnosis_report.h"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/reports/text.h"
#include "core/json.h"

namespace collbench {
namespace {

double gigabytes(Bandwidth rate) { return rate.bytes_per_second / 1e9; }

/// Rates of a size as measured, and as expected.
struct SizeRates {
  double measured;
  double expected;
};
SizeRates rates_of(const Diagnosis& diagnosis, const JudgedSize& size) {
  const int ranks = diagnosis.scale.ranks;
  return {gigabytes(bus_bandwidth(size.bytes, size.measured, ranks)),
          gigabytes(bus_bandwidth(size.bytes, size.expected.time, ranks))};
}

void write_sizes(std::ostream& out, const Diagnosis& diagnosis) {
  out << fmt::format("{:>9} {:>10} {:>10} {:>22} {:>7} {:>8}  {:<11} {}\n", "size", "measured",
                     "expected", "80 % interval", "busbw", "expected", "verdict", "played");
  for (const JudgedSize& size : diagnosis.sizes) {
    const SizeRates rates = rates_of(diagnosis, size);
    out << fmt::format("{:>9} {:>10} {:>10} {:>22} {:>7} {:>8}  {:<11} {}\n", to_string(size.bytes),
                       time_text(size.measured), time_text(size.expected.time), interval_of(size),
                       significant(rates.measured, 3), significant(rates.expected, 3), size.verdict,
                       size.played);
  }
}

std::string floor_line(const VendorFloor& floor, const Diagnosis& diagnosis) {
  return fmt::format("{} ({}): {:g} GB/s, {}", floor.vendor, floor.machine, floor.busbw_GBps,
                     floor_text(floor, diagnosis));
}

void write_diagnosis(std::ostream& out, const Diagnosis& diagnosis) {
  out << diagnosis_heading(diagnosis) << '\n' << diagnosis_line(diagnosis) << '\n';
  out << diagnosis_figures(diagnosis) << "\n\n";
  write_sizes(out, diagnosis);
  out << '\n';
  for (std::size_t i = 0; i < diagnosis.causes.size(); ++i) {
    out << fmt::format("{}. {}", i + 1, describe(diagnosis.causes[i]));
  }
  if (!diagnosis.undecided.empty()) out << diagnosis.undecided << '\n';
  for (const VendorFloor& floor : diagnosis.floors) {
    out << "threshold: " << floor_line(floor, diagnosis) << '\n';
  }
  for (const std::string& note : diagnosis.notes) out << "note: " << note << '\n';
}

nlohmann::ordered_json json_of(const Diagnosis& diagnosis) {
  using Json = nlohmann::ordered_json;
  const auto us = [](Seconds time) { return time.count() * 1e6; };
  Json json = {{"table", diagnosis.table},
               {"machine", diagnosis.machine},
               {"method", diagnosis.method},
               {"ranks", diagnosis.scale.ranks},
               {"nodes", diagnosis.scale.nodes},
               {"verdict", verdict_of(diagnosis)},
               {"sure", diagnosis.untold.empty() ? nlohmann::ordered_json(diagnosis.sure)
                                                 : nlohmann::ordered_json()},
               {"untold", diagnosis.untold},
               {"wrong_rows", diagnosis.wrong_rows},
               {"busbw_GBps", gigabytes(diagnosis.busbw)},
               {"expected_busbw_GBps", gigabytes(diagnosis.expected_busbw)},
               {"causes", Json::array()},
               {"cause_group", diagnosis.cause_group},
               {"undecided", diagnosis.undecided},
               {"sizes", Json::array()},
               {"thresholds", Json::array()},
               {"notes", diagnosis.notes}};
  for (const FoundCause& found : diagnosis.causes) {
    json["causes"].push_back(parse_json<Json>(cause_json(found)));
  }
  for (const JudgedSize& size : diagnosis.sizes) {
    json["sizes"].push_back({{"bytes", size.bytes.count},
                             {"measured_us", us(size.measured)},
                             {"mean_us", us(size.mean)},
                             {"expected_us", us(size.expected.time)},
                             {"low_us", us(size.expected.low)},
                             {"high_us", us(size.expected.high)},
                             {"verdict", size.verdict},
                             {"played", size.played}});
  }
  for (const VendorFloor& floor : diagnosis.floors) {
    json["thresholds"].push_back({{"vendor", floor.vendor},
                                  {"machine", floor.machine},
                                  {"busbw_GBps", floor.busbw_GBps},
                                  {"outcome", floor_text(floor, diagnosis)},
                                  {"source", floor.source}});
  }
  return json;
}

void write_markdown(std::ostream& out, const Diagnosis& diagnosis) {
  out << "### " << escaped_for_markdown(diagnosis_heading(diagnosis)) << "\n\n**"
      << escaped_for_markdown(diagnosis_line(diagnosis)) << "**\n\n"
      << escaped_for_markdown(diagnosis_figures(diagnosis)) << "\n\n";
  for (const FoundCause& found : diagnosis.causes) out << describe_markdown(found);
  if (!diagnosis.undecided.empty()) out << "\n" << diagnosis.undecided << "\n";
  out << "\n| size | measured | expected | 80 % interval | busbw, GB/s | expected | verdict |\n"
         "|---:|---:|---:|---:|---:|---:|---|\n";
  for (const JudgedSize& size : diagnosis.sizes) {
    const SizeRates rates = rates_of(diagnosis, size);
    out << fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", to_string(size.bytes),
                       time_text(size.measured), time_text(size.expected.time), interval_of(size),
                       significant(rates.measured, 3), significant(rates.expected, 3),
                       size.verdict);
  }
  out << '\n';
  for (const VendorFloor& floor : diagnosis.floors) {
    out << "- threshold: " << escaped_for_markdown(floor_line(floor, diagnosis)) << '\n';
  }
  for (const std::string& note : diagnosis.notes) {
    out << "- note: " << escaped_for_markdown(note) << '\n';
  }
}

}  // namespace

void write_diagnoses(std::ostream& out, const std::vector<Diagnosis>& diagnoses) {
  for (std::size_t i = 0; i < diagnoses.size(); ++i) {
    if (i > 0) out << '\n';
    write_diagnosis(out, diagnoses[i]);
  }
}

void write_diagnoses_markdown(std::ostream& out, const std::vector<Diagnosis>& diagnoses) {
  for (const Diagnosis& diagnosis : diagnoses) write_markdown(out, diagnosis);
}

void write_diagnoses_json(std::ostream& out, const std::vector<Diagnosis>& diagnoses) {
  nlohmann::ordered_json json = {{"verdict", verdict_of_all(diagnoses)},
                                 {"causes", nlohmann::ordered_json::array()},
                                 {"tables", nlohmann::ordered_json::array()}};
  std::vector<std::string> names;
  for (const Diagnosis& diagnosis : diagnoses) {
    json["tables"].push_back(json_of(diagnosis));
    for (const FoundCause& found : diagnosis.causes) {
      const std::string name = found.cause->name;
      const bool told = std::find(names.begin(), names.end(), name) != names.end();
      if (found.cause->fault && !told) names.push_back(name);
    }
  }
  json["causes"] = names;
  out << json_text(json, 2) << '\n';
}

void write_diagnoses_csv(std::ostream& out, const std::vector<Diagnosis>& diagnoses) {
  const auto quoted = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('"', at)) != text.npos; at += 2)
      text.insert(at, 1, '"');
    return '"' + text + '"';
  };
  out << "table,machine,method,ranks,nodes,bytes,measured_us,mean_us,expected_us,low_us,high_us,"
         "verdict,played,table_verdict,cause\n";
  for (const Diagnosis& diagnosis : diagnoses) {
    const std::string causes = fmt::format("{}", fmt::join(diagnosis.cause_group, "|"));
    for (const JudgedSize& size : diagnosis.sizes) {
      const Estimate& expected = size.expected;
      out << fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},{},{},{}\n",
                         quoted(diagnosis.table), quoted(diagnosis.machine),
                         quoted(diagnosis.method), diagnosis.scale.ranks, diagnosis.scale.nodes,
                         size.bytes.count, size.measured.count() * 1e6, size.mean.count() * 1e6,
                         expected.time.count() * 1e6, expected.low.count() * 1e6,
                         expected.high.count() * 1e6, size.verdict, quoted(size.played),
                         verdict_of(diagnosis), causes);
    }
  }
}

std::string diagnosis_heading(const Diagnosis& diagnosis) {
  return fmt::format("{}: {}, {}, on {}", diagnosis.table, diagnosis.method,
                     to_string(diagnosis.scale), diagnosis.machine);
}

std::string interval_of(const JudgedSize& size) {
  return fmt::format("{} .. {}", time_text(size.expected.low), time_text(size.expected.high));
}

std::string diagnosis_line(const Diagnosis& diagnosis) {
  if (!diagnosis.untold.empty()) return "cannot be told: " + diagnosis.untold;
  std::string line = fmt::format("{} ({:.0f} %)", verdict_of(diagnosis), 100 * diagnosis.sure);
  const std::vector<std::string>& group = diagnosis.cause_group;
  if (group.size() > 1) {
    return line + fmt::format(": {}; it cannot be told which", fmt::join(group, " or "));
  }
  if (!diagnosis.causes.empty()) {
    const Cause& cause = *diagnosis.causes.front().cause;
    line += fmt::format(": {}, {}", cause.name, cause.title);
  }
  return line;
}

std::string floor_text(const VendorFloor& floor, const Diagnosis& diagnosis) {
  const Bytes largest = diagnosis.sizes.back().bytes;
  constexpr Bytes comparable{std::int64_t{1} << 30};
  if (largest < comparable) {
    return fmt::format("for sizes beyond this table, which ends at {}", to_string(largest));
  }
  return gigabytes(diagnosis.busbw) >= floor.busbw_GBps ? "reached" : "missed";
}

std::string diagnosis_figures(const Diagnosis& diagnosis) {
  return fmt::format("busbw {} GB/s, median of the three largest sizes; expected {} GB/s",
                     significant(gigabytes(diagnosis.busbw), 3),
                     significant(gigabytes(diagnosis.expected_busbw), 3));
}

const char* verdict_of_all(const std::vector<Diagnosis>& diagnoses) {
  const char* all = "healthy";
  for (const Diagnosis& each : diagnoses) {
    if (!each.healthy) return "unhealthy";
    if (!each.untold.empty()) all = verdict_of(each);
  }
  return all;
}

bool needs_hint(const Diagnosis& diagnosis) {
  return !diagnosis.healthy || !diagnosis.untold.empty();
}

std::string diagnosis_hint(const Diagnosis& diagnosis) {
  return fmt::format("{}, {}: {}; collbench diagnose {} --topo {} says more", diagnosis.table,
                     to_string(diagnosis.scale), diagnosis_line(diagnosis), diagnosis.table,
                     diagnosis.machine);
}

}  // namespace collbench
