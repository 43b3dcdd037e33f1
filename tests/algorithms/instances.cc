#include "tests/algorithms/instances.h"

#include <bit>
#include <map>

namespace collbench {
namespace {

// Rank counts that a spec allows beyond the constraints of its algorithm: 0 stands for all.
struct OptionSet {
  std::string options;
  int only = 0;
  int at_least = 1;
  int multiple_of = 1;
};

const std::map<std::string, std::vector<OptionSet>>& option_sets() {
  static const std::map<std::string, std::vector<OptionSet>> sets{
      {"ring",
       {{":segments=3"},
        {":bidirectional"},
        {":pincer"},
        {":bidirectional:segments=2"},
        {":pincer:segments=4"},
        {":channels=4:node=4", 0, 4, 4},
        {":channels=2:node=3:bidirectional", 0, 3, 3},
        {":orders=0-1-2-3+0-2-1-3", 4},
        {":orders=0-3-1-2-4+4-2-0-1-3+1-0-4-3-2:bidirectional", 5}}},
      {"tree", {{":segments=1"}, {":segments=16"}}},
      {"double-tree",
       {{":segments=1"},
        {":segments=5"},
        {":channels=4:node=4:segments=2", 0, 4, 4},
        {":node=2", 0, 2, 2}}},
      {"recursive-doubling", {{":dims=4x8:streams=2", 32}, {":dims=2x4x4", 32}}},
      {"halving-doubling",
       {{":order=far"}, {":dims=4x4:streams=2", 16}, {":dims=2x8x2:streams=3:order=far", 32}}},
      {"hierarchical",
       {{":dims=2x3x4", 24},
        {":dims=4x8:inner=pincer:outer=direct", 32},
        {":dims=1x5x7", 35},
        {":dims=3x3:inner=bidirectional:outer=circulant", 9},
        {":inner=direct"},
        {":outer=circulant"}}},
      {"torus",
       {{":pincer"},
        {":wrap=00"},
        {":wrap=tm"},
        {":dims=3x3x3", 27},
        {":dims=2x3x5:pincer", 30},
        {":dims=2x2x3x3:wrap=1,0,1,0", 36},
        {":dims=4x2x3:wrap=mmm", 24},
        {":dims=7x5:wrap=mt:pincer", 35},
        {":dims=4x8:pincer", 32},
        {":dims=2x3x4:concentrate", 24},
        {":dims=2x4x4:wrap=mtm:pincer:concentrate:shares=balanced", 32},
        {":dims=3x1:concentrate", 3}}},
      {"torus-2d", {{":dims=2x7", 14}, {":dims=6x5", 30}}},
      {"swing",
       {{":latency"},
        {":dims=8", 8},
        {":dims=8:streams=2", 8},
        {":dims=4x4:streams=4", 16},
        {":dims=8x4:streams=3", 32},
        {":dims=2x8x1x2:streams=6", 32},
        {":dims=4x8:streams=4:latency", 32}}},
      {"bine", {{":small"}}},
      {"pat", {{":aggregation=1"}, {":aggregation=2", 0, 3}, {":aggregation=4", 0, 5}}},
      {"reduce-broadcast", {{":root=2", 0, 3}}},
      {"parameter-server", {{":servers=1"}, {":servers=3", 0, 3}}},
      {"hierarchical-copy", {{":packs=3"}, {":packs=7"}}},
      {"tf-ring", {{":subdivs=2"}}},
  };
  return sets;
}

}  // namespace

std::vector<std::string> tested_specs() {
  std::vector<std::string> specs;
  for (const AlgorithmInfo& info : algorithms()) {
    const std::string name(info.name);
    specs.push_back(name);
    const auto found = option_sets().find(name);
    if (found == option_sets().end()) continue;
    for (const OptionSet& set : found->second) specs.push_back(name + set.options);
  }
  return specs;
}

bool allows(const std::string& spec, int ranks) {
  const std::string name = spec.substr(0, spec.find(':'));
  if (name == "swing" && !std::has_single_bit(static_cast<unsigned>(ranks))) return false;
  const auto found = option_sets().find(name);
  if (found == option_sets().end()) return true;
  for (const OptionSet& set : found->second) {
    if (name + set.options == spec) {
      return ranks >= set.at_least && (set.only == 0 || set.only == ranks) &&
             ranks % set.multiple_of == 0;
    }
  }
  return true;
}

std::vector<Instance> instances(const std::vector<int>& counts) {
  std::vector<Instance> list;
  for (const std::string& spec : tested_specs()) {
    for (const int ranks : counts) {
      if (allows(spec, ranks)) list.push_back({spec, ranks});
    }
  }
  return list;
}

std::vector<int> counts_to(int last) {
  std::vector<int> counts;
  for (int n = 1; n <= last; ++n) counts.push_back(n);
  return counts;
}

std::string instance_name(const Instance& instance) {
  std::string name = instance.spec + "_n" + std::to_string(instance.ranks);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!plain) c = '_';
  }
  return name;
}

}  // namespace collbench
