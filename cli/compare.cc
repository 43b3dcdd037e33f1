// `collbench compare BASE HEAD`: verdicts on stored records.
#include "bench/verdicts/compare.h"

#include <memory>

#include <fmt/format.h>

#include "bench/records/record_file.h"
#include "cli/declare.h"
#include "cli/gate_options.h"
#include "core/error.h"

namespace collbench {
namespace {

struct CompareOptions {
  std::string base;
  std::string head;
  bool any_machine = false;
  GateOptions gate;
};

int compare(const CompareOptions& options) {
  const GateRule rule = gate_rule_of(options.gate);
  const RecordFile base = read_records(options.base);
  const RecordFile head = read_records(options.head);
  require_sound(base, options.base);
  require_sound(head, options.head);
  Comparison comparison = compare_files(base, head, rule, options.any_machine);
  comparison.title = options.gate.title.empty()
                         ? fmt::format("{} against {}", options.head, options.base)
                         : options.gate.title;
  return show_comparison(comparison, options.gate);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App& command =
      add_command(app, "compare", "verdicts on two files of records: what is slower, faster",
                  action, [options] { return compare(*options); });
  add_argument(command, options->base, "BASE", "records of the version to compare with",
               Presence::required);
  add_argument(command, options->head, "HEAD", "records of the version to judge",
               Presence::required);
  add_switch(command, options->any_machine, "--allow-env-mismatch",
             "verdicts on times of different machines too", "Verdicts");
  declare_gate_options(command, options->gate);
}

}  // namespace collbench
