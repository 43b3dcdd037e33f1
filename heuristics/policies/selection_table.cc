#include "heuristics/policies/selection_table.h"

#include <cmath>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double precise_enough = 1.03;                    // of a crossover, as a factor
constexpr std::string_view size_digits = "0123456789.e+";  // of factors like 8 and 1.02e+03

/// What a warning says of any size: without the size asked for and the factors that depend on it.
std::string regardless_of_size(std::string warning, Bytes bytes) {
  const std::string size = to_string(bytes);
  if (const std::size_t at = warning.find(size); at != warning.npos) warning.erase(at, size.size());
  std::erase_if(warning, [](char c) { return size_digits.find(c) != size_digits.npos; });
  return warning;
}

/// RCCL's kernels play whole loops of so many elements only (heuristics/nccl/library_rules.h): of
/// two of them other sizes say nothing.
constexpr std::int64_t loop_of_kernels = 512;

class Asker {
 public:
  Asker(const Policy& policy, const Question& question, ScaleRules& scale)
      : policy_(policy), question_(question), scale_(scale) {}

  SizeRule at(std::int64_t bytes) {
    question_.bytes = Bytes{bytes};
    Answer answer = ask(policy_, question_);
    for (std::string& warning : answer.warnings) {
      if (told_.insert(regardless_of_size(warning, question_.bytes)).second) {
        scale_.warnings.push_back(std::move(warning));
      }
    }
    return {Bytes{bytes}, no_end, std::move(answer.algorithm), std::move(answer.protocol),
            std::move(answer.library)};
  }

  /// Appends the rules between two answers, the second included.
  void cross(const SizeRule& low, const SizeRule& high) {
    const bool in_loops = low.algorithm == "all-pairs" && high.algorithm == low.algorithm;
    const std::int64_t element = size_of(question_.type) * (in_loops ? loop_of_kernels : 1);
    const auto first = static_cast<double>(low.from.count);
    const auto last = static_cast<double>(high.from.count);
    const Bytes middle{std::max<std::int64_t>(
        low.from.count + element, std::llround(std::sqrt(first * last)) / element * element)};
    if (is_same(low, high) || last / first <= precise_enough || middle <= low.from ||
        middle >= high.from) {
      append(high);
      return;
    }
    const SizeRule between = at(middle.count);
    cross(low, between);
    cross(between, high);
  }

  /// What holds from `rule.from` on.
  void append(const SizeRule& rule) {
    auto& rules = scale_.rules;
    if (!rules.empty() && is_same(rules.back(), rule)) return;
    if (!rules.empty()) rules.back().to = Bytes{rule.from.count - 1};
    rules.push_back(rule);
  }

 private:
  static bool is_same(const SizeRule& a, const SizeRule& b) {
    return a.algorithm == b.algorithm && a.protocol == b.protocol && a.library == b.library;
  }

  const Policy& policy_;
  Question question_;
  ScaleRules& scale_;
  std::set<std::string> told_;
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
  SizeRule low = asker.at(first.count);
  const SizeRule top = asker.at(last.count);  // before those between, whose warnings are less
  asker.append(low);
  while (low.from < last) {
    const std::int64_t asked = low.from.count;
    const SizeRule high = asked > last.count / 2 ? top : asker.at(asked * 2);
    asker.cross(low, high);
    low = high;
  }
  scale.rules.front().from = Bytes{0};
  return scale;
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
