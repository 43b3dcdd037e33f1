#include "cli/report_inputs.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/foreign/foreign_tables.h"
#include "bench/measure/case_filter.h"
#include "bench/reports/replay.h"
#include "bench/verdicts/history.h"
#include "bench/verdicts/verdict_json.h"
#include "core/error.h"
#include "core/input_file.h"

namespace collbench {
namespace {

/// A comparison is the only object here with verdicts; they stand before a megabyte of samples.
bool is_comparison(const std::string& text) {
  const std::size_t verdicts = text.find("\"verdicts\"");
  return text.starts_with('{') && verdicts != std::string::npos &&
         text.find("\"records\"") == std::string::npos;
}

/// Tables of other benchmarks: of a folder, or of a file with hints behind its name.
void add_tables(const std::string& path, ReportInputs& inputs) {
  std::vector<std::string> skipped;
  const std::vector<MeasuredTable> tables = read_tables(path, skipped);
  require(!tables.empty(), "neither records, nor a comparison, nor a table of another benchmark");
  for (const MeasuredTable& table : tables) {
    const std::string name = std::filesystem::path(table.name).filename().string();
    inputs.sources.push_back({name, to_records(table)});
  }
}

/// A table of links is the network of the trace before it, if its hosts are there.
void add_links(const Replay& links, std::vector<Replay>& replays) {
  const bool joins =
      !replays.empty() && replays.back().links.empty() && belong_together(replays.back(), links);
  if (joins) {
    replays.back() = joined(std::move(replays.back()), links);
  } else {
    replays.push_back(links);
  }
}

}  // namespace

std::vector<Record> ReportInputs::records() const {
  std::vector<Record> all;
  for (const ReportSource& source : sources) {
    all.insert(all.end(), source.file.records.begin(), source.file.records.end());
  }
  return all;
}

ReportInputs read_report_inputs(const std::vector<std::string>& files) {
  ReportInputs inputs;
  for (const std::string& path : files) {
    // What is not there may be a file with hints: "job.txt,ranks=16".
    const bool is_file = std::filesystem::exists(path) && !std::filesystem::is_directory(path);
    const std::string text = is_file ? read_file(path) : "";  // once: a pipe has it only once
    const std::string name = std::filesystem::path(path).filename().string();
    try {
      if (is_comparison(text)) {
        require(!inputs.comparison, "a second comparison; a report shows one");
        inputs.comparison = comparison_from_json(text);
      } else if (is_trace(text)) {
        inputs.replays.push_back(trace_from_json(text, name));
      } else if (is_link_table(text)) {
        add_links(links_from_csv(text, name), inputs.replays);
      } else if (is_file && foreign_format(text) == "collbench") {
        inputs.sources.push_back({name, records_from_json(text)});
      } else if (is_file) {
        inputs.sources.push_back({name, to_records(read_foreign(text, path))});
      } else {
        add_tables(path, inputs);
      }
    } catch (const InvalidArgument& error) {
      const std::string message = error.what();
      const bool says_where = message.find(path) != std::string::npos;
      throw InvalidArgument(says_where ? message : fmt::format("'{}': {}", path, message));
    }
  }
  return inputs;
}

std::vector<StoredSeries> read_history(const std::string& path) {
  // Opening makes a file that is not there; a report only reads.
  if (!std::filesystem::exists(path)) throw Unavailable(fmt::format("cannot read '{}'", path));
  const History history(path);
  std::vector<StoredSeries> all;
  for (const std::string& name : history.cases()) {
    all.push_back(history.series(name, ChangeRule{}));
  }
  return all;
}

void keep_matching(ReportInputs& inputs, const std::string& filter) {
  if (filter.empty()) return;
  const std::vector<FilterTerm> terms = parse_filter(filter);
  for (ReportSource& source : inputs.sources) {
    std::erase_if(source.file.records,
                  [&](const Record& record) { return !matches(terms, record.point); });
  }
}

}  // namespace collbench
