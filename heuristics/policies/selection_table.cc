#include "heuristics/policies/selection_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double precise_enough = 1.03;  // of a crossover, as a factor

struct TablePoint {
  std::int64_t bytes = 0;
  std::string algorithm;
  std::string protocol;
  bool same_as(const TablePoint& other) const {
    return algorithm == other.algorithm && protocol == other.protocol;
  }
};

class Asker {
 public:
  Asker(const Policy& policy, const Question& question, ScaleRules& scale)
      : policy_(policy), question_(question), scale_(scale) {}

  TablePoint at(std::int64_t bytes) {
    question_.bytes = Bytes{bytes};
    Answer answer = ask(policy_, question_);
    for (std::string& warning : answer.warnings) {
      auto& known = scale_.warnings;
      if (std::find(known.begin(), known.end(), warning) == known.end()) {
        known.push_back(std::move(warning));
      }
    }
    return {bytes, std::move(answer.algorithm), std::move(answer.protocol)};
  }

  /// Appends what lies between two points that differ, the second included.
  void cross(const TablePoint& low, const TablePoint& high, std::vector<TablePoint>& points) {
    const auto element = static_cast<std::int64_t>(size_of(question_.type));
    const double ratio = static_cast<double>(high.bytes) / static_cast<double>(low.bytes);
    const auto geometric =
        std::sqrt(static_cast<double>(low.bytes) * static_cast<double>(high.bytes));
    const std::int64_t middle = std::llround(geometric) / element * element;
    if (low.same_as(high) || ratio <= precise_enough || middle <= low.bytes ||
        middle >= high.bytes) {
      points.push_back(high);
      return;
    }
    const TablePoint between = at(middle);
    cross(low, between, points);
    cross(between, high, points);
  }

 private:
  const Policy& policy_;
  Question question_;
  ScaleRules& scale_;
};

}  // namespace

ScaleRules size_rules(const Policy& policy, const Question& question, Bytes first, Bytes last) {
  require(first.count >= 1 && first <= last,
          fmt::format("sizes from {} to {}: the first must be at least 1 byte and not above the "
                      "last",
                      to_string(first), to_string(last)));
  ScaleRules scale;
  scale.workers = question.workers;
  scale.nodes = question.nodes;
  Asker asker(policy, question, scale);
  std::vector<TablePoint> points{asker.at(first.count)};
  while (points.back().bytes < last.count) {
    const TablePoint low = points.back();
    const std::int64_t next =
        low.bytes > last.count / 2 ? last.count : std::min(last.count, low.bytes * 2);
    asker.cross(low, asker.at(next), points);
  }
  for (const TablePoint& point : points) {
    auto& rules = scale.rules;
    if (!rules.empty() && rules.back().algorithm == point.algorithm &&
        rules.back().protocol == point.protocol) {
      continue;
    }
    const Bytes from{rules.empty() ? 0 : point.bytes};
    if (!rules.empty()) rules.back().to = Bytes{point.bytes - 1};
    rules.push_back({from, no_end, point.algorithm, point.protocol});
  }
  return scale;
}

const SizeRule& rule_for(const ScaleRules& scale, Bytes bytes) {
  const auto found = std::find_if(scale.rules.begin(), scale.rules.end(),
                                  [&](const SizeRule& rule) { return bytes <= rule.to; });
  return found == scale.rules.end() ? scale.rules.back() : *found;
}

void check_rules(const ScaleRules& scale) {
  const auto refuse = [&](const std::string& what) {
    throw InvalidArgument(fmt::format("rules for {} workers: {}", scale.workers, what));
  };
  if (scale.rules.empty()) refuse("there are none");
  if (scale.workers < 1 || scale.nodes < 1) refuse("workers and nodes must be at least 1");
  std::int64_t expected = 0;
  for (const SizeRule& rule : scale.rules) {
    if (rule.from.count != expected) {
      refuse(fmt::format("one begins at {} where {} is next", rule.from.count, expected));
    }
    if (rule.to < rule.from) refuse(fmt::format("one ends before it begins, at {}", rule.to.count));
    if (rule.to == no_end && &rule != &scale.rules.back())
      refuse("one without end is not the last");
    if (rule.to != no_end) expected = rule.to.count + 1;
  }
  if (scale.rules.back().to != no_end) refuse("the last must have no end");
}

}  // namespace collbench
