// `collbench compare BASE HEAD`: verdicts on stored records.
#include "bench/verdicts/compare.h"

#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/foreign/foreign_tables.h"
#include "cli/declare.h"
#include "cli/gate_options.h"
#include "core/error.h"

namespace collbench {
namespace {

constexpr OptionRow compare_rows[] = {
    {arguments_group, "BASE", "", "BASE", "",
     "records, or other benchmarks' tables, of the version to compare with", Presence::required},
    {arguments_group, "HEAD", "", "HEAD", "", "the same for the version to judge",
     Presence::required},
    {verdicts_group, "allow-env-mismatch", "", "", "", "judge times of different machines too"},
};

int compare(const Settings& settings) {
  const GateRule rule = gate_rule_of(settings);
  const std::string& base_file = settings.text("BASE");
  const std::string& head_file = settings.text("HEAD");
  std::vector<std::string> notes;
  LostFiles lost;
  const RecordFile base = read_as_records(base_file, notes, &lost.base);
  const RecordFile head = read_as_records(head_file, notes, &lost.head);
  for (const std::string& note : notes) std::cerr << "note: " << note << '\n';
  require_sound(base, base_file);
  require_sound(head, head_file);
  Comparison comparison =
      compare_files(base, head, rule, settings.flag("allow-env-mismatch"), lost);
  const std::vector<std::string> idle = idle_thresholds(comparison);
  require(idle.empty() || compares_nothing(comparison),
          fmt::format("--threshold-for: no case matches '{}'", fmt::join(idle, "' or '")));
  comparison.title = fmt::format("{} against {}", head_file, base_file);
  return show_comparison(std::move(comparison), settings);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  static const std::vector<OptionRow> rows = concatenated({compare_rows, gate_option_rows()});
  add_command(app, "compare", "compare two files of records: what is slower, what faster", rows,
              action, compare);
}

}  // namespace collbench
