// nccl-tests' table: fixed columns, one row per size with an out-of-place and an in-place half.
#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/format.h>

#include "bench/records/record_json.h"
#include "bench/records/report.h"
#include "bench/reports/formats.h"
#include "bench/reports/text.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::string_view nccl_type_name(DataType type) {
  constexpr std::string_view names[] = {"half",  "bfloat16", "float", "double",
                                        "int32", "int64",    "uint8"};  // as the enumerators
  return names[static_cast<std::size_t>(type)];
}

/// Of ranks whose results differ one element at least is wrong; below zero if none was checked.
std::int64_t told_wrong(const Record& record) {
  const Measurement& measured = record.measurement;
  return measured.replicas_identical ? measured.wrong : std::max<std::int64_t>(measured.wrong, 1);
}

/// One half of a row: 7 characters of time, as nccl-tests rounds it, and two bandwidths.
std::string half_row(const Record* record) {
  const Figures shown = record == nullptr ? Figures{} : figures(*record);
  if (!shown.valid) return fmt::format("  {:>7}  {:>6}  {:>6}  {:>5}", "N/A", "N/A", "N/A", "N/A");
  const int decimals = shown.time_us >= 10000 ? 0 : (shown.time_us >= 100 ? 1 : 2);
  const std::int64_t wrong = told_wrong(*record);
  return fmt::format("  {:>7.{}f}  {:>6.2f}  {:>6.2f}  {:>5}", shown.time_us, decimals,
                     shown.algbw_GBps, shown.busbw_GBps, wrong < 0 ? "N/A" : std::to_string(wrong));
}

/// What one table of nccl-tests holds constant: all but the size and the place.
std::string table_key(Case point) {
  point.bytes = {};
  point.in_place = true;
  return to_json(point);
}

/// What nccl-tests gives to the call: of collectives with shares the elements of one.
std::int64_t called_count(const Case& point) {
  return element_count(point) / (has_shares(point.collective) ? group_size(point) : 1);
}

std::string_view operator_name(const Case& point) {
  return adds(point.collective) ? to_string(point.op) : "none";
}

/// "all-gather, groups 2x4": what the table is of beside an all-reduce of all, led by commas.
std::string collective_text(const Case& point) {
  std::string text;
  if (point.collective != CollectiveKind::all_reduce) {
    text += fmt::format(", {}", to_string(point.collective));
  }
  if (!point.groups.empty()) text += ", groups " + point.groups;
  if (!point.counts.empty()) text += ", counts " + point.counts;
  return text;
}

/// The rows of one size: out of place, in place.
struct SizeRow {
  std::vector<Record> out_of_place;
  std::vector<Record> in_place;
};

struct SizeTable {
  Case point;
  std::map<std::int64_t, SizeRow> rows;
};

bool workers_share_process(const Case& point) {
  const Backend* const row = backend_named(point.backend);
  return row != nullptr && row->choice == ChoiceKind::shared_memory && !point.isolate;
}

class NcclReporter final : public Reporter {
 public:
  NcclReporter(std::ostream& out, const FormatOptions& options)
      : out_(out), sampling_(options.sampling) {}

  void begin(const Environment& environment, const std::vector<Case>& cases) override {
    source_ = value_of(environment, "source", "");
    host_ = value_of(environment, "host");
    version_ = value_of(environment, "version");
    for (const Case& point : cases) sizes_.push_back(point.bytes.count);
    std::sort(sizes_.begin(), sizes_.end());
    sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
  }

  void record(const Record& record) override {
    const auto [found, is_new] = tables_.try_emplace(table_key(record.point));
    if (is_new) {
      order_.push_back(found->first);
      found->second.point = record.point;
    }
    SizeRow& row = found->second.rows[record.point.bytes.count];
    Record kept = record;
    kept.measurement.skew_ns.clear();
    kept.measurement.back_to_back_ns.clear();
    (record.point.in_place ? row.in_place : row.out_of_place).push_back(std::move(kept));
  }

  void end(const RunSummary& /*summary*/) override {
    for (const std::string& key : order_) print(tables_.at(key));
    out_ << std::flush;
  }

 private:
  void print(const SizeTable& table) {
    print_heading(table.point);
    std::int64_t wrong = 0;
    double bandwidth = 0;
    int figures_counted = 0;
    for (const auto& [bytes, row] : table.rows) {
      const std::size_t cycles = std::max(row.out_of_place.size(), row.in_place.size());
      for (std::size_t cycle = 0; cycle < cycles; ++cycle) {
        const auto* out = cycle < row.out_of_place.size() ? &row.out_of_place[cycle] : nullptr;
        const auto* in = cycle < row.in_place.size() ? &row.in_place[cycle] : nullptr;
        const Case& point = (out == nullptr ? in : out)->point;
        out_ << fmt::format("{:>12}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", bytes, called_count(point),
                            nccl_type_name(point.type), operator_name(point),
                            has_root(point.collective) ? point.root : -1, half_row(out),
                            half_row(in));
        for (const Record* half : {out, in}) {
          if (half == nullptr || !figures(*half).valid) continue;
          bandwidth += figures(*half).busbw_GBps;
          ++figures_counted;
          wrong += std::max<std::int64_t>(told_wrong(*half), 0);
        }
      }
    }
    out_ << fmt::format("# Out of bounds values : {} {}\n", wrong, wrong == 0 ? "OK" : "FAILED");
    out_ << fmt::format("# Avg bus bandwidth    : {:.6g}\n#\n",
                        figures_counted == 0 ? 0.0 : bandwidth / figures_counted);
  }

  void print_heading(const Case& point) {
    const bool by_step = sizes_.size() > 2 && sizes_[2] - sizes_[1] == sizes_[1] - sizes_[0];
    const double ratio = sizes_.size() > 1 && sizes_[0] > 0
                             ? static_cast<double>(sizes_[1]) / static_cast<double>(sizes_[0])
                             : 1;
    const std::string step = by_step ? fmt::format("{}(bytes)", sizes_[1] - sizes_[0])
                                     : fmt::format("{:.3g}(factor)", ratio);
    out_ << (source_.empty() ? fmt::format("# collbench {}: {} on {}, {} workers", version_,
                                           point.algorithm, backend_name(point), point.workers)
                             : fmt::format("# {}: {} {}, {} ranks", source_, backend_name(point),
                                           point.algorithm, point.workers))
         << collective_text(point) << '\n';
    out_ << fmt::format(
        "# nThread {} nGpus 0 minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} "
        "agg iters: 1 validation: {} graph: 0\n#\n# Using devices\n",
        workers_share_process(point) ? point.workers : 1, sizes_.front(), sizes_.back(), step,
        sampling_.warmup, sampling_.iterations, sampling_.check ? 1 : 0);
    for (int rank = 0; rank < point.workers; ++rank) {
      if (!source_.empty()) break;  // another's devices are not in its table
      out_ << fmt::format("#  Rank {:>2} Group  0 on {} device {:>2} [CPU]\n", rank, host_, rank);
    }
    out_ << "#\n#" << std::string(62, ' ') << "out-of-place" << std::string(23, ' ') << "in-place"
         << std::string(10, ' ') << '\n';
    const std::string names = "     time   algbw   busbw #wrong";
    const std::string units = "     (us)  (GB/s)  (GB/s)       ";
    out_ << fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "size", "count", "type",
                        "redop", "root", names, names);
    out_ << fmt::format("# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}{}{}\n", "(B)", "(elements)", "", "",
                        "", units, units);
  }

  std::ostream& out_;
  Sampling sampling_;
  std::string host_;
  std::string version_;
  std::string source_;  // of records that are another benchmark's table
  std::vector<std::int64_t> sizes_;
  std::vector<std::string> order_;
  std::map<std::string, SizeTable> tables_;
};

}  // namespace

ReportFormat nccl_format() { return {"nccl", "nccl-tests' table", reporter_on<NcclReporter>}; }

}  // namespace collbench
