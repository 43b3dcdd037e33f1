// Fuzzes TF_CONFIG: any text is either a cluster in which the task has a place, or an
// InvalidArgument that names the variable.
#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "transports/world/tf_config.h"

namespace {

template <class Place>
void check_place(const Place& place, const collbench::TfConfig& config) {
  if (place.evaluator || place.hosts.empty()) return;
  const auto rank = static_cast<std::size_t>(place.rank);
  const auto& own = config.cluster.at(config.task_type).at(config.task_index);
  if (rank >= place.hosts.size() || place.hosts[rank] != own) std::abort();
}

}  // namespace

FUZZ_TARGET(tf_config, input) {
  using namespace collbench;
  for (const bool servers : {false, true}) {
    try {
      const TfConfig config = parse_tf_config(std::string_view(input));
      if (servers) {
        check_place(parameter_server_place(config), config);
      } else {
        check_place(mirrored_place(config), config);
      }
    } catch (const InvalidArgument& e) {
      if (std::string_view(e.what()).rfind("TF_CONFIG", 0) != 0) std::abort();
    }
  }
}
