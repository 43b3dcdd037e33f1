// Long CSV: what was varied first, then what was measured. RFC 4180 quoting; empty is "not known".
#include <algorithm>
#include <cmath>
#include <ostream>
#include <span>

#include <fmt/format.h>

#include "bench/records/case_fields.h"
#include "bench/records/csv_cells.h"
#include "bench/reports/formats.h"
#include "bench/reports/text.h"

namespace collbench {
namespace {

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
constexpr std::string_view asked_simulated_columns[] = {"jitter_us", "stragglers", "slow_hosts",
                                                        "equal_chunks", "seed"};
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
  if (simulated.topology.empty()) return fmt::format(",,{},,,,,,,", to_string(point.collective));
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

template <typename Owner>
std::string asked_cell(const JsonField<Owner>& field, const Owner& owner) {
  const auto* const is_set = std::get_if<bool Owner::*>(&field.member);
  if (is_set != nullptr) return fmt::format(",{}", owner.**is_set);
  const auto* const time = std::get_if<Seconds Owner::*>(&field.member);
  if (time != nullptr) return fmt::format(",{:.12g}", (owner.**time).count() * 1e6);
  return "," + csv_quoted(field_text(field, owner));
}

/// The fields among `columns` that any owner has otherwise than usual.
template <typename Owner>
std::vector<JsonField<Owner>> asked_fields(std::span<const JsonField<Owner>> all,
                                           std::span<const std::string_view> columns,
                                           const std::vector<Owner>& owners) {
  static const Owner usual;
  std::vector<JsonField<Owner>> fields;
  for (const JsonField<Owner>& field : all) {
    const bool is_asked = std::ranges::any_of(owners, [&](const Owner& owner) {
      return field_text(field, owner) != field_text(field, usual);
    });
    const bool has_column = std::ranges::find(columns, field.key) != columns.end();
    if (has_column && is_asked) fields.push_back(field);
  }
  return fields;
}

std::vector<Simulated> simulated_parts(const std::vector<Case>& cases) {
  std::vector<Simulated> all;
  for (const Case& point : cases) {
    if (!point.simulated.topology.empty()) all.push_back(point.simulated);
  }
  return all;
}

/// A number below a microsecond would lose its digits with three behind the point.
std::string csv_microseconds(double ns) {
  return std::abs(ns) < 1e3 ? fmt::format("{:.6g}", ns / 1e3) : fmt::format("{:.3f}", ns / 1e3);
}

class CsvReporter final : public Reporter {
 public:
  CsvReporter(std::ostream& out, const FormatOptions& options)
      : out_(out), raw_samples_(options.raw_samples) {}

  void begin(const Environment& /*environment*/, const std::vector<Case>& cases) override {
    const std::vector<Simulated> simulated = simulated_parts(cases);
    simulated_ = !simulated.empty();
    stated_ = !raw_samples_ &&
              std::ranges::any_of(cases, [](const Case& one) { return !one.statistic.empty(); });
    others_ = !simulated_ && std::ranges::any_of(cases, [](const Case& one) {
      return one.collective != CollectiveKind::all_reduce;
    });
    std::vector<std::string_view> columns(std::begin(asked_columns), std::end(asked_columns));
    if (simulated_) columns.emplace_back("root");
    asked_ = asked_fields<Case>(case_fields(), columns, cases);
    asked_simulated_ =
        asked_fields<Simulated>(simulated_fields(), asked_simulated_columns, simulated);
    out_ << case_columns << (raw_samples_ ? sample_columns : statistics_columns)
         << (simulated_ ? simulated_columns : "") << (others_ ? collective_columns : "");
    for (const JsonField<Case>& field : asked_) out_ << ',' << field.key;
    for (const JsonField<Simulated>& field : asked_simulated_) out_ << ',' << field.key;
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
    for (const JsonField<Simulated>& field : asked_simulated_) {
      const bool is_real = point.simulated.topology.empty();
      cells += is_real ? "," : asked_cell(field, point.simulated);
    }
    return cells;
  }

  void write_samples(const Record& record) {
    const Measurement& measured = record.measurement;
    const std::vector<double> times = call_times_ns(record);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const std::string skew =
          i < measured.skew_ns.size()
              ? fmt::format("{:.3f}", static_cast<double>(measured.skew_ns[i]) / 1e3)
              : std::string();
      out_ << fmt::format("{},{},{},{}{}{}\n", case_cells(record), i, csv_microseconds(times[i]),
                          skew, simulated_ ? simulated_cells(record) : "",
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
        out_ << ',' << (std::isnan(ns) ? "" : csv_microseconds(ns));
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
         << (stated_ ? fmt::format(",{},{}", csv_quoted(record.point.statistic),
                                   csv_microseconds(shown.time_us * 1e3))
                     : "")
         << '\n';
  }

  std::ostream& out_;
  bool raw_samples_;
  bool simulated_ = false;              // some are; then there are columns for it
  bool others_ = false;                 // some are no all-reduces; then there are columns for it
  std::vector<JsonField<Case>> asked_;  // each of some case; then there are columns for them
  std::vector<JsonField<Simulated>> asked_simulated_;
  bool stated_ = false;  // some are another benchmark's; then there are columns for them
};

}  // namespace

ReportFormat csv_format() { return {"csv", "long CSV, a row per case", reporter_on<CsvReporter>}; }

}  // namespace collbench
