// Fuzzes TF_CONFIG: any text is either a cluster in which the task has a place, or an
// InvalidArgument that names the variable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace collbench;
  for (const bool servers : {false, true}) {
    try {
      const TfConfig config =
          parse_tf_config(std::string_view(reinterpret_cast<const char*>(data), size));
      if (servers) {
        check_place(parameter_server_place(config), config);
      } else {
        check_place(mirrored_place(config), config);
      }
    } catch (const InvalidArgument& e) {
      if (std::string_view(e.what()).rfind("TF_CONFIG", 0) != 0) std::abort();
    }
  }
  return 0;
}
