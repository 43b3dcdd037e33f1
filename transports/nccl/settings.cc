#include "transports/nccl/settings.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/options.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

struct SettingName {
  std::string_view ours;
  std::string_view nccls;
};
constexpr std::array<SettingName, 6> algos{{{"ring", "Ring"},
                                            {"tree", "Tree"},
                                            {"collnet-direct", "CollnetDirect"},
                                            {"collnet-chain", "CollnetChain"},
                                            {"nvls", "NVLS"},
                                            {"nvls-tree", "NVLSTree"}}};
constexpr std::array<SettingName, 3> protos{
    {{"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}}};
constexpr std::array<std::string_view, 7> options{"algo",        "proto", "channels", "parts",
                                                  "nonblocking", "graph", "register"};
constexpr int most_channels = 64;
constexpr int most_parts = 1024;

template <std::size_t n>
std::vector<std::string> names(const std::array<SettingName, n>& words) {
  std::vector<std::string> all;
  for (const SettingName& word : words) all.emplace_back(word.ours);
  return all;
}

/// Null if there is none.
template <std::size_t n>
const SettingName* find(const std::array<SettingName, n>& words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &SettingName::ours);
  return found == words.end() ? nullptr : &*found;
}

template <std::size_t n>
std::string chosen(const AlgorithmSpec& spec, const char* option,
                   const std::array<SettingName, n>& words) {
  const auto found = spec.options.find(option);
  if (found == spec.options.end()) return "";
  const std::vector<std::string> known = names(words);
  require(find(words, found->second) != nullptr,
          fmt::format("{}: {} is not '{}'.{} Known are {}", to_string(spec), option, found->second,
                      did_you_mean(found->second, known), fmt::join(known, ", ")));
  return found->second;
}

void refuse_unknown(const AlgorithmSpec& spec) {
  std::vector<std::string> known(options.begin(), options.end());
  for (const auto& [key, value] : spec.options) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw InvalidArgument(fmt::format("{}: NCCL has no option '{}'.{} Known are {}",
                                      to_string(spec), key, did_you_mean(key, known),
                                      fmt::join(known, ", ")));
  }
}

}  // namespace

NcclSettings parse_nccl_settings(const std::string& text) {
  AlgorithmSpec spec = parse_algorithm_spec(text);
  require(spec.name == "nccl", fmt::format("'{}' is not a spec of NCCL", text));
  for (const SettingName& word : algos) {  // nccl:ring is short for nccl:algo=ring
    const auto found = spec.options.find(std::string(word.ours));
    if (found == spec.options.end() || !found->second.empty()) continue;
    spec.options.erase(found);
    require(spec.options.emplace("algo", word.ours).second,
            fmt::format("'{}' names two algorithms; NCCL plays one", text));
  }
  refuse_unknown(spec);
  NcclSettings settings;
  settings.algo = chosen(spec, "algo", algos);
  settings.proto = chosen(spec, "proto", protos);
  settings.channels = int_option(spec, "channels", 0, 1, most_channels);
  settings.parts = int_option(spec, "parts", 1, 1, most_parts);
  settings.nonblocking = flag_option(spec, "nonblocking");
  settings.graph = flag_option(spec, "graph");
  settings.registered = flag_option(spec, "register");
  return settings;
}

std::vector<std::pair<std::string, std::string>> NcclSettings::environment() const {
  std::vector<std::pair<std::string, std::string>> variables;
  if (!algo.empty()) variables.emplace_back("NCCL_ALGO", find(algos, algo)->nccls);
  if (!proto.empty()) variables.emplace_back("NCCL_PROTO", find(protos, proto)->nccls);
  return variables;
}

std::string NcclSettings::description() const {
  std::vector<std::string> words;
  if (!algo.empty()) words.push_back(algo);
  if (!proto.empty()) words.push_back(proto);
  if (channels > 0) words.push_back(fmt::format("{} channels", channels));
  if (parts > 1) words.push_back(fmt::format("{} calls in a group", parts));
  if (nonblocking) words.emplace_back("non-blocking");
  if (graph) words.emplace_back("CUDA graph");
  if (registered) words.emplace_back("registered buffers");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::pair<std::string, std::string>> shared_gpu_environment(int rank) {
  return {{"NCCL_HOSTID", fmt::format("collbench-rank-{}", rank)},
          {"NCCL_SOCKET_IFNAME", "lo"},
          {"NCCL_NET", "Socket"},
          {"NCCL_IB_DISABLE", "1"},
          {"NCCL_P2P_DISABLE", "1"},
          {"NCCL_SHM_DISABLE", "1"},
          {"NCCL_MNNVL_ENABLE", "0"},
          {"NCCL_NVLS_ENABLE", "0"},
          {"NCCL_RAS_ENABLE", "0"},
          {"NCCL_CUMEM_ENABLE", "0"},
          {"NCCL_MAX_NCHANNELS", "2"},
          {"NCCL_BUFFSIZE", "1048576"},
          {"NCCL_NET_GDR_LEVEL", "LOC"}};
}

void tell_nccl(const std::vector<std::pair<std::string, std::string>>& variables) {
  static std::mutex mutex;
  static std::map<std::string, std::string> told;
  static bool first = true;
  const std::map<std::string, std::string> wanted(variables.begin(), variables.end());
  const std::lock_guard lock(mutex);
  if (!first) {
    require(told == wanted,
            "NCCL reads NCCL_ALGO, NCCL_PROTO and the like once per process, and this one was "
            "started for others; measure each setting in processes of its own");
    return;
  }
  for (const auto& [name, value] : wanted) {
    const char* set = std::getenv(name.c_str());
    const bool forced = name == "NCCL_ALGO" || name == "NCCL_PROTO";
    require(set == nullptr || !forced || value == set,
            fmt::format("{}={} is in the environment, but the case asks for {}; unset it", name,
                        set == nullptr ? "" : set, value));
    setenv(name.c_str(), value.c_str(), 0);
  }
  told = wanted;
  first = false;
}

}  // namespace collbench
