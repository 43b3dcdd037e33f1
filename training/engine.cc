#include "training/engine.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr ComputeEngine rows[] = {
    {"plain", "plain loops on the CPU, one thread for each replica; f64 is the oracle of others",
     make_plain_network, make_host_optimizer},
};

}  // namespace

std::span<const ComputeEngine> engines() { return rows; }

const ComputeEngine& find_engine(const std::string& name) {
  std::vector<std::string> names;
  for (const ComputeEngine& row : rows) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw InvalidArgument(fmt::format("unknown engine '{}'.{} Engines: {}", name,
                                    did_you_mean(name, names), fmt::join(names, ", ")));
}

}  // namespace collbench
