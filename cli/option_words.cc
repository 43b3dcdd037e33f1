// The words that options take, where they are known: what completion offers and parsing accepts.
#include <array>
#include <map>

#include "algorithms/registry.h"
#include "bench/reports/columns.h"
#include "cli/settings.h"
#include "core/data_type.h"
#include "simulator/simulate.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

using Words = std::vector<std::string>;

Words algorithm_words() {
  Words words{"auto", "all"};
  for (const Backend& backend : backends()) {
    if (backend.has_library) words.push_back(backend.name);
  }
  for (const AlgorithmInfo& info : algorithms()) words.emplace_back(info.name);
  return words;
}

Words backend_words() {
  Words words = backend_names();
  words.insert(words.begin(), "auto");
  return words;
}

template <typename Values>
Words names_of(const Values& values) {
  Words words;
  for (const auto value : values) words.emplace_back(to_string(value));
  return words;
}

}  // namespace

std::vector<std::string> option_words(std::string_view option) {
  static const std::map<std::string_view, Words, std::less<>> all = {
      {"algo", algorithm_words()},
      {"backend", backend_words()},
      {"buffers", {"hot", "produced", "cold"}},
      {"collective", {collective_names().begin(), collective_names().end()}},
      {"color", {"auto", "always", "never"}},
      {"columns", column_names()},
      {"datatype", names_of(all_data_types())},
      {"executor", {"auto", "graph", "persistent"}},
      {"op", names_of(all_reduce_ops())},
      {"pin", {"compact", "scatter", "none"}},
      {"posting", names_of(std::array{Posting::eager, Posting::rendezvous})},
      {"progress", {"auto", "on", "off"}},
      {"sort", column_names()},
      {"strategy",
       {"mirrored", "multi-worker-mirrored", "central-storage", "parameter-server", "tpu"}},
      {"transport", remote_backend().transports},
  };
  const auto found = all.find(option);
  return found == all.end() ? Words() : found->second;
}

}  // namespace collbench
