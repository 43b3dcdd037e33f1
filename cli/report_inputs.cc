#include "cli/report_inputs.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/case_filter.h"
#include "bench/record_file.h"
#include "bench/verdict_json.h"
#include "cli/config_file.h"
#include "core/error.h"

namespace collbench {
namespace {

/// A comparison is the only object here with verdicts; they stand before a megabyte of samples.
bool is_comparison(const std::string& text) {
  const std::size_t verdicts = text.find("\"verdicts\"");
  return text.starts_with('{') && verdicts != std::string::npos &&
         text.find("\"records\"") == std::string::npos;
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
    const std::string text = read_text_file(path);
    const std::string name = std::filesystem::path(path).filename().string();
    try {
      if (is_comparison(text)) {
        require(!inputs.comparison, "a second comparison; a report shows one");
        inputs.comparison = comparison_from_json(text);
      } else {
        inputs.sources.push_back({name, records_from_json(text)});
      }
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("'{}': {}", path, error.what()));
    }
  }
  return inputs;
}

void keep_matching(ReportInputs& inputs, const std::string& filter) {
  if (filter.empty()) return;
  const std::vector<FilterTerm> terms = parse_filter(filter);
  for (ReportSource& source : inputs.sources) {
    std::erase_if(source.file.records,
                  [&](const Record& record) { return !matches(terms, record.which); });
  }
}

}  // namespace collbench
