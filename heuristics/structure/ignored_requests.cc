#include "heuristics/structure/ignored_requests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "heuristics/structure/played_method.h"

namespace collbench {
namespace {

constexpr double like_within = 0.04;
constexpr double like_share = 0.85;
constexpr int least_common = 5;

using BatchKey = std::tuple<std::string, Scale, std::string>;  // batch, scale, library
/// What was added and how: times of another type or operator, or in place, compare with none.
using WorkSize = std::tuple<DataType, ReduceOp, bool, std::string, Bytes>;
using SizeTimes = std::map<WorkSize, Seconds>;
using BatchCurves = std::map<BatchKey, std::map<std::string, SizeTimes>>;

bool is_choice(const std::string& algorithm, const MeasuredTime& row) {
  MethodKey method = method_of(row);
  method.algorithm = algorithm;
  const auto played = played_method(method, row.scale);
  return played && family_of(*played) == PlayedFamily::choice;
}

enum class Likeness { unknown, alike, different };

Likeness likeness(const SizeTimes& a, const SizeTimes& b) {
  int common = 0;
  int near = 0;
  for (const auto& [work, time] : a) {
    const auto other = b.find(work);
    if (other == b.end()) continue;
    ++common;
    near += std::abs(time / other->second - 1) <= like_within ? 1 : 0;
  }
  if (common < least_common) return Likeness::unknown;
  return near >= like_share * common ? Likeness::alike : Likeness::different;
}

}  // namespace

std::vector<MeasuredTime> without_ignored_requests(std::vector<MeasuredTime> rows,
                                                   std::vector<std::string>& notes) {
  BatchCurves batches;
  std::set<std::string> choices;
  for (const MeasuredTime& row : rows) {
    const WorkSize work{row.type, row.op, row.in_place, row.protocol, row.bytes};
    SizeTimes& times = batches[{row.batch, row.scale, row.library}][row.algorithm];
    const auto [known, is_new] = times.emplace(work, row.time);
    if (!is_new) known->second = std::min(known->second, row.time);
    if (is_choice(row.algorithm, row)) choices.insert(row.algorithm);
  }
  // How each pair of a named method and a choice compares, by batch. What a library chooses differs
  // by scale and build, so that only batches of the same ones contradict each other.
  using Pair = std::tuple<std::string, std::string, Scale, std::string>;
  std::map<Pair, std::map<BatchKey, Likeness>> pairs;
  for (const auto& [key, curves] : batches) {
    for (const auto& [algorithm, times] : curves) {
      if (choices.count(algorithm) > 0) continue;
      for (const std::string& choice : choices) {
        const auto own = curves.find(choice);
        if (own == curves.end()) continue;
        const Likeness found = likeness(times, own->second);
        if (found == Likeness::unknown) continue;
        pairs[{algorithm, choice, std::get<1>(key), std::get<2>(key)}][key] = found;
      }
    }
  }
  std::set<std::pair<BatchKey, std::string>> ignored;
  for (const auto& [pair, found] : pairs) {
    const auto& [algorithm, choice, scale, library] = pair;
    bool differs = false;
    for (const auto& [key, how] : found) differs = differs || how == Likeness::different;
    for (const auto& [key, how] : found) {
      if (!differs || how != Likeness::alike) continue;
      if (!ignored.emplace(key, algorithm).second) continue;
      const std::string& batch = std::get<0>(key);
      notes.push_back(fmt::format(
          "'{}' of {} on {}{} is left out: it took the time of '{}', so the request for it was "
          "ignored",
          algorithm, library, to_string(scale), batch.empty() ? "" : " in batch " + batch, choice));
    }
  }
  std::erase_if(rows, [&](const MeasuredTime& row) {
    return ignored.count({{row.batch, row.scale, row.library}, row.algorithm}) > 0;
  });
  return rows;
}

}  // namespace collbench
