// `collbench train`: data-parallel training over our own all-reduce, and where a step's time goes.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/train_options.h"
#include "cli/train_report.h"
#include "core/error.h"
#include "training/mirrored.h"

namespace collbench {
namespace {

int train_command(const CLI::App& app) {
  const Settings settings(app, train_option_rows(), {});
  require(settings.text("strategy") == "mirrored",
          fmt::format("{}: unknown strategy '{}'. Strategies: mirrored", settings.label("strategy"),
                      settings.text("strategy")));
  const TrainingPlan plan = plan_of(settings);
  const int workers = static_cast<int>(count_of(settings, "workers", 1, 512));
  const std::string& json = settings.text("json");
  per_replica_batch(plan.global_batch, workers);
  const Samples samples = samples_of(settings, plan);
  ProgressLine line(use_progress(settings.text("progress")));
  const auto reports =
      train_mirrored(plan, workers, settings.text("algo"), samples.train, samples.held_out,
                     [&line](const Progress& now) {
                       line.show(fmt::format("step {}: loss {:.4f}, accuracy {:.3f}", now.steps,
                                             now.loss, now.accuracy));
                     });
  line.clear();
  if (json != "-") print_results(plan, samples, reports);
  if (!json.empty()) write_json(json, train_document(settings, plan, samples, reports));
  return exit_ok;
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "train a small model on replicas, and time it");
  declare_options(*command, train_option_rows());
  command->allow_extras();
  command->callback([command, &action] { action = [command] { return train_command(*command); }; });
}

}  // namespace collbench
