// `collbench train`: data-parallel training over our own all-reduce, and where a step's time goes.
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/declare.h"
#include "cli/settings.h"
#include "cli/train_mirrored.h"
#include "cli/train_on_network.h"
#include "cli/train_options.h"
#include "cli/train_servers.h"
#include "cli/train_simulated.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

/// A strategy of TensorFlow's, by its name.
struct Strategy {
  std::string name;
  int (*train)(const Settings& settings);
};
const std::vector<Strategy>& strategies() {
  static const std::vector<Strategy> rows = {
      {"mirrored", train_mirrored},
      {"multi-worker-mirrored", train_workers},
      {"central-storage", train_central},
      {"parameter-server", train_servers},
      {"tpu", train_tpu},
  };
  return rows;
}

int train_command(const CLI::App& app) {
  const Settings settings(app, train_option_rows(), {});
  if (asks_for_workload(settings)) return train_workload(settings);
  if (settings.given("topo")) return train_on_network(settings);
  const std::string& name = settings.text("strategy");
  std::vector<std::string> names;
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) return strategy.train(settings);
    names.push_back(strategy.name);
  }
  throw InvalidArgument(fmt::format("{}: unknown strategy '{}'.{} Strategies: {}",
                                    settings.label("strategy"), name, did_you_mean(name, names),
                                    fmt::join(names, ", ")));
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  add_command(app, "train", "train a small model on replicas, and time it", train_option_rows(),
              action, train_command);
}

}  // namespace collbench
