// `collbench train`: data-parallel training over our own all-reduce, and where a step's time goes.
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/declare.h"
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
  bool has_tasks = false;  // workers may be processes, on several machines
};
constexpr Strategy strategies[] = {
    {"mirrored", train_mirrored},
    {"multi-worker-mirrored", train_workers, true},
    {"central-storage", train_central},
    {"parameter-server", train_servers, true},
    {"tpu", train_tpu},
};

/// Of training for real, in this strategy.
void refuse_what_has_no_effect(const Settings& settings, const Strategy& strategy) {
  for (const auto rows : {workload_option_rows(), network_option_rows()}) {
    for (const OptionRow& row : rows) {
      settings.refuse_group(row.group, {"trace"}, "without --topo or --workload");
    }
  }
  if (strategy.has_tasks || settings.given("backend")) return;
  for (const OptionRow& row : worker_option_rows()) {
    settings.refuse_group(row.group, {"launcher"},
                          fmt::format("with --strategy {}", strategy.name));
  }
}

int train_command(const Settings& settings) {
  if (asks_for_workload(settings)) return train_workload(settings);
  if (settings.given("topo")) return train_on_network(settings);
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies) names.emplace_back(strategy.name);
  const Strategy& strategy = strategies[require_known(
      settings.label("strategy"), settings.text("strategy"), names, "strategy")];
  refuse_what_has_no_effect(settings, strategy);
  return strategy.train(settings);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  add_command(app, "train", "train a small model on replicas, and time it", train_option_rows(),
              action, train_command, [](const CLI::App&) { return std::vector<ConfigLayer>(); });
}

}  // namespace collbench
