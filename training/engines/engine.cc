#include "training/engines/engine.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"
#include "training/engines/layer.h"
#include "training/engines/plain_layers.h"

namespace collbench {

std::unique_ptr<Network> make_plain_network(const Model& model, std::int64_t samples,
                                            DataType type) {
  if (type == DataType::f32) {
    return make_layered_network<float>(model, samples, false, make_plain_layer<float>);
  }
  if (type == DataType::f64) {
    return make_layered_network<double>(model, samples, false, make_plain_layer<double>);
  }
  throw Unavailable(fmt::format("engine plain computes in f32 or f64, not {}", to_string(type)));
}

namespace {

std::vector<ComputeEngine> make_rows() {
  const std::span<const ComputeEngine> first = onednn_rows();
  std::vector<ComputeEngine> rows(first.begin(), first.end());
  rows.push_back(
      {"plain", "plain loops on the CPU, one thread for each replica; f64 is the oracle of others",
       [](DataType type) { return type == DataType::f32 || type == DataType::f64; },
       make_plain_network, make_host_optimizer});
  const std::span<const ComputeEngine> last = cudnn_rows();
  rows.insert(rows.end() - 1, last.begin(), last.end());
  return rows;
}

}  // namespace

std::span<const ComputeEngine> engines() {
  static const std::vector<ComputeEngine> rows = make_rows();
  return rows;
}

// Engines that a build may lack, and what it lacks then.
constexpr std::pair<std::string_view, std::string_view> absent_engines[] = {
    {"onednn", "this build has no oneDNN (Debian: libdnnl-dev)"},
    {"cudnn", "this build has no CUDA support with cuDNN"}};

namespace {

std::string why_unusable(const ComputeEngine& engine) {
  return engine.why_unusable == nullptr ? std::string() : engine.why_unusable();
}

}  // namespace

std::vector<EngineState> engine_states() {
  std::vector<EngineState> states;
  for (const ComputeEngine& row : engines()) {
    states.push_back({std::string(row.name), std::string(row.summary), why_unusable(row)});
  }
  for (const auto& [name, why] : absent_engines) {
    if (std::ranges::find(engines(), name, &ComputeEngine::name) == engines().end()) {
      states.push_back({std::string(name), "", std::string(why)});
    }
  }
  return states;
}

const ComputeEngine& find_engine(const std::string& name, DataType type) {
  std::vector<std::string> names{"auto"};
  for (const ComputeEngine& row : engines()) {
    const bool is_asked = row.name == name;
    if (is_asked || (name == "auto" && row.computes_in(type) && why_unusable(row).empty())) {
      return row;
    }
    names.emplace_back(row.name);
  }
  if (name == "auto") return engines().back();  // which says what it cannot compute in
  for (const auto& [absent, why] : absent_engines) {
    if (name == absent) throw Unavailable(fmt::format("engine {}: {}", name, why));
  }
  throw InvalidArgument(unknown_name("engine", name, names));
}

}  // namespace collbench
