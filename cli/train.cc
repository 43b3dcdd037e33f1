// `collbench train`: data-parallel training over our own all-reduce, and where a step's time goes.
#include <string>
#include <vector>

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/isolated_tasks.h"
#include "cli/remote.h"
#include "cli/settings.h"
#include "cli/train_options.h"
#include "cli/train_runs.h"
#include "core/suggest.h"

namespace collbench {
namespace {

/// A strategy of TensorFlow's, by its name.
struct Strategy {
  const char* name;
  int (*train)(const Settings& settings);
};
constexpr Strategy strategies[] = {
    {"mirrored", train_mirrored},
    {"multi-worker-mirrored", train_workers},
    {"central-storage", train_central},
    {"parameter-server", train_servers},
    {"tpu", train_tpu},
};

/// Only steps whose all-reduces are real are work of several processes.
bool is_of_one_process(const Settings& settings) {
  return settings.given("topo") || settings.given("profile") || settings.flag("list-workloads");
}

/// Of training for real.
void refuse_what_has_no_effect(const Settings& settings) {
  for (const auto rows : {workload_option_rows(), network_option_rows()}) {
    for (const OptionRow& row : rows) {
      settings.refuse_group(row.group, {"trace"}, "without --topo or --workload");
    }
  }
}

int train_command(const Settings& settings) {
  end_with_launcher();
  if (is_of_one_process(settings) && another_rank_does(settings)) return exit_ok;
  if (asks_for_workload(settings)) return train_workload(settings);
  if (settings.given("topo")) return train_on_network(settings);
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies) names.emplace_back(strategy.name);
  const Strategy& strategy = strategies[require_known(
      settings.label("strategy"), settings.text("strategy"), names, "strategy")];
  refuse_what_has_no_effect(settings);
  return strategy.train(settings);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  add_command(app, "train", "train a small model on replicas, and time it", train_option_rows(),
              action, train_command, [](const CLI::App&) { return std::vector<ConfigLayer>(); });
}

}  // namespace collbench
