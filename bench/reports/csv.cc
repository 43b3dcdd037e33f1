// Long CSV: what was varied first, then what was measured. RFC 4180 quoting; empty is "not known".
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "bench/records/case_fields.h"
#include "bench/reports/formats.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

std::string csv_quoted(std::string text) {
  // A spreadsheet would compute a cell that begins so; an apostrophe makes it text.
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) {
    text.insert(0, "'");
  }
  if (text.find_first_of(",\"\n\r") == text.npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

constexpr std::string_view case_columns =
    "algorithm,chosen,backend,transport,workers,isolate,private_buffers,type,op,in_place,buffers,"
    "bytes,count,started";
constexpr std::string_view statistics_columns =
    ",n,median_us,min_us,p25_us,p75_us,p95_us,p99_us,interval_low_us,interval_high_us,algbw_GBps,"
    "busbw_GBps,bound_us,wrong,replicas_identical,skipped";
constexpr std::string_view simulated_columns =
    ",topology,collective,posting,mapping,protocol,engine,exact_us,rounds,messages";
constexpr std::string_view collective_columns = ",collective,root";
constexpr std::string_view stated_columns = ",statistic,time_us";
constexpr std::string_view asked_columns[] = {"groups", "counts", "checksum", "inject", "devices"};
constexpr std::string_view sample_columns = ",sample,latency_us,skew_us";

std::string case_cells(const Record& record) {
  const Case& point = record.point;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}", csv_quoted(point.algorithm),
                     csv_quoted(record.algorithm_chosen), csv_quoted(point.backend),
                     csv_quoted(point.transport), point.workers, point.isolate,
                     point.private_buffers, to_string(point.type), to_string(point.op),
                     point.in_place, to_string(point.buffers), point.bytes.count,
                     element_count(point), csv_quoted(record.started));
}

std::string simulated_cells(const Record& record) {
  const Case& point = record.point;
  const Simulated& simulated = point.simulated;
  std::string cells = fmt::format(",{},{},{},{},{}", csv_quoted(simulated.topology),
                                  to_string(point.collective), csv_quoted(simulated.posting),
                                  csv_quoted(simulated.mapping), csv_quoted(simulated.protocol));
  if (!record.measurement.exact) return cells + ",,,,";
  const Exact& exact = *record.measurement.exact;
  return cells + fmt::format(",{},{:.12g},{},{}", csv_quoted(exact.engine),
                             exact.time.count() * 1e6, exact.rounds, exact.messages);
}

std::string collective_cells(const Case& point) {
  return fmt::format(",{},{}", to_string(point.collective), point.root);
}

std::string asked_cell(const JsonField<Case>& field, const Case& point) {
  const auto* const is_set = std::get_if<bool Case::*>(&field.member);
  if (is_set != nullptr) return fmt::format(",{}", point.**is_set);
  return "," + csv_quoted(field_text(field, point));
}

/// The fields of a case that have columns where a case has them.
std::vector<JsonField<Case>> asked_fields(const std::vector<Case>& cases) {
  static const Case usual;
  std::vector<JsonField<Case>> fields;
  for (const JsonField<Case>& field : case_fields()) {
    const bool is_asked = std::ranges::any_of(cases, [&](const Case& point) {
      return field_text(field, point) != field_text(field, usual);
    });
    const bool has_column = std::ranges::find(asked_columns, field.key) != std::end(asked_columns);
    if (has_column && is_asked) fields.push_back(field);
  }
  return fields;
}

bool all_simulated(const std::vector<Case>& cases) {
  return std::none_of(cases.begin(), cases.end(),
                      [](const Case& point) { return point.simulated.topology.empty(); });
}

class CsvReporter final : public Reporter {
 public:
  CsvReporter(std::ostream& out, const FormatOptions& options)
      : out_(out), raw_samples_(options.raw_samples) {}

  void begin(const Environment& /*environment*/, const std::vector<Case>& cases) override {
    simulated_ = all_simulated(cases) && !raw_samples_;
    stated_ = !raw_samples_ &&
              std::ranges::any_of(cases, [](const Case& one) { return !one.statistic.empty(); });
    others_ = !simulated_ && std::ranges::any_of(cases, [](const Case& one) {
      return one.collective != CollectiveKind::all_reduce;
    });
    asked_ = asked_fields(cases);
    out_ << case_columns << (raw_samples_ ? sample_columns : statistics_columns)
         << (simulated_ ? simulated_columns : "") << (others_ ? collective_columns : "");
    for (const JsonField<Case>& field : asked_) out_ << ',' << field.key;
    out_ << (stated_ ? stated_columns : "") << '\n' << std::flush;
  }

  void record(const Record& record) override {
    if (raw_samples_) {
      write_samples(record);
    } else {
      write_statistics(record);
    }
    out_ << std::flush;
  }

 private:
  std::string asked_cells(const Case& point) const {
    std::string cells = others_ ? collective_cells(point) : "";
    for (const JsonField<Case>& field : asked_) cells += asked_cell(field, point);
    return cells;
  }

  void write_samples(const Record& record) {
    const Measurement& measured = record.measurement;
    for (std::size_t i = 0; i < measured.latency_ns.size(); ++i) {
      const std::string skew =
          i < measured.skew_ns.size()
              ? fmt::format("{:.3f}", static_cast<double>(measured.skew_ns[i]) / 1e3)
              : std::string();
      out_ << fmt::format("{},{},{:.3f},{}{}\n", case_cells(record), i,
                          static_cast<double>(measured.latency_ns[i]) / 1e3, skew,
                          asked_cells(record.point));
    }
  }

  void write_statistics(const Record& record) {
    const Figures shown = figures(record);
    out_ << case_cells(record);
    if (shown.valid) {
      const Summary& s = shown.latency;
      out_ << ',' << (s.n > 0 ? std::to_string(s.n) : "");
      for (const double ns : {s.median_ns, s.min_ns, s.p25_ns, s.p75_ns, s.p95_ns, s.p99_ns,
                              s.interval_low_ns, s.interval_high_ns}) {
        out_ << (std::isnan(ns) ? "," : fmt::format(",{:.3f}", ns / 1e3));
      }
      out_ << fmt::format(",{:.6g},{:.6g}", shown.algbw_GBps, shown.busbw_GBps);
    } else {
      out_ << ",0" << std::string(10, ',');
    }
    const std::int64_t wrong = record.measurement.wrong;
    out_ << ',' << (record.bound ? fmt::format("{:.3f}", record.bound->time.count() * 1e6) : "")
         << ',' << (wrong < 0 ? "" : std::to_string(wrong)) << ','
         << (wrong < 0 ? "" : (record.measurement.replicas_identical ? "true" : "false")) << ','
         << csv_quoted(record.skipped) << (simulated_ ? simulated_cells(record) : "")
         << asked_cells(record.point)
         << (stated_ ? fmt::format(",{},{:.3f}", csv_quoted(record.point.statistic), shown.time_us)
                     : "")
         << '\n';
  }

  std::ostream& out_;
  bool raw_samples_;
  bool simulated_ = false;              // every case is; then there are columns for it
  bool others_ = false;                 // some are no all-reduces; then there are columns for it
  std::vector<JsonField<Case>> asked_;  // each of some case; then there are columns for them
  bool stated_ = false;  // some are another benchmark's; then there are columns for them
};

}  // namespace

ReportFormat csv_format() { return {"csv", "long CSV, a row per case", reporter_on<CsvReporter>}; }

}  // namespace collbench
