// `collbench compare BASE HEAD`: verdicts on stored records.
#include "bench/compare.h"

#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/record_file.h"
#include "cli/command.h"
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
  CLI::App* command =
      app.add_subcommand("compare", "verdicts on two files of records: what is slower, faster");
  auto options = std::make_shared<CompareOptions>();
  command->add_option("BASE", options->base, "records of the version to compare with")
      ->option_text("BASE")
      ->group("Arguments")
      ->required();
  command->add_option("HEAD", options->head, "records of the version in question")
      ->option_text("HEAD")
      ->group("Arguments")
      ->required();
  command
      ->add_flag("--allow-env-mismatch", options->any_machine,
                 "verdicts on times of different machines too")
      ->group("Verdicts");
  declare_gate_options(*command, options->gate);
  command->callback([options, &action] { action = [options] { return compare(*options); }; });
}

}  // namespace collbench
