// `collbench train`: data-parallel training over our own all-reduce, and where a step's time goes.
#include <string>
#include <vector>

#include "cli/declare.h"
#include "cli/settings.h"
#include "cli/train_options.h"
#include "cli/train_runs.h"
#include "cli/train_servers.h"
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

int train_command(const CLI::App& app) {
  const Settings settings(app, train_option_rows(), {});
  if (asks_for_workload(settings)) return train_workload(settings);
  if (settings.given("topo")) return train_on_network(settings);
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies) names.emplace_back(strategy.name);
  return strategies[require_known(settings.label("strategy"), settings.text("strategy"), names,
                                  "strategy")]
      .train(settings);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  add_command(app, "train", "train a small model on replicas, and time it", train_option_rows(),
              action, train_command);
}

}  // namespace collbench
