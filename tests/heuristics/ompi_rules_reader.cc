#include "tests/heuristics/ompi_rules_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "heuristics/exports/ompi_rules.h"

namespace collbench {
namespace {

constexpr int all_reduce_of_ompi = 2;  // among Open MPI's collectives
constexpr std::int64_t most_entries = 1'000'000;

class OmpiReader {
 public:
  OmpiReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  std::int64_t next(const char* what, std::int64_t least, std::int64_t most) {
    skip();
    if (at_ == text_.size()) refuse(fmt::format("the file ends where {} is next", what));
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n#", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    const auto value = integer_in(word, least, most);
    if (!value) {
      refuse(fmt::format("{} must be a whole number from {} to {}, not '{}'", what, least, most,
                         word));
    }
    at_ = end;
    return *value;
  }

  void expect_end() {
    skip();
    if (at_ != text_.size()) refuse("nothing may follow the last rule");
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw InvalidArgument(fmt::format("{}:{}: {}", file_, line_, what));
  }

 private:
  /// Blanks and comments.
  void skip() {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ == text_.size()) return;
      if (text_[at_] == '\n') ++line_;
      if (std::string_view(" \t\r\n").find(text_[at_]) == std::string_view::npos) return;
    }
  }

  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0;
  int line_ = 1;
};

std::string name_of(std::int64_t number) {
  switch (static_cast<OmpiAlgorithm>(number)) {
    case OmpiAlgorithm::linear:
      return "reduce-broadcast";
    case OmpiAlgorithm::nonoverlapping:
      return "tree";
    case OmpiAlgorithm::recursive_doubling:
      return "recursive-doubling";
    case OmpiAlgorithm::ring:
      return "ring";
    case OmpiAlgorithm::segmented_ring:
      return "ring:segments=2";
    case OmpiAlgorithm::rabenseifner:
      return "halving-doubling";
  }
  return {};
}

ScaleRules read_scale(OmpiReader& reader) {
  ScaleRules scale;
  scale.workers = static_cast<int>(reader.next("a number of ranks", 1, 1 << 30));
  const std::int64_t sizes = reader.next("the number of sizes", 1, most_entries);
  for (std::int64_t i = 0; i < sizes; ++i) {
    SizeRule rule;
    rule.from.count = reader.next("a size", 0, no_end.count - 1);
    auto& rules = scale.rules;
    if (rules.empty() && rule.from.count != 0) reader.refuse("the first size must be 0");
    if (!rules.empty() && rule.from <= rules.back().from) reader.refuse("sizes must ascend");
    if (!rules.empty()) rules.back().to = Bytes{rule.from.count - 1};
    rule.to = no_end;
    rule.algorithm = name_of(reader.next("an algorithm", 1, 6));
    reader.next("the topology or fan-out", 0, 1 << 30);
    reader.next("the segment size", 0, no_end.count);
    rules.push_back(std::move(rule));
  }
  return scale;
}

}  // namespace

const SizeRule& rule_for(const ScaleRules& scale, Bytes bytes) {
  const auto found = std::find_if(scale.rules.begin(), scale.rules.end(),
                                  [&](const SizeRule& rule) { return bytes <= rule.to; });
  return found == scale.rules.end() ? scale.rules.back() : *found;
}

SelectionTable read_ompi_rules(std::string_view text, const std::string& file) {
  OmpiReader reader(text, file);
  SelectionTable table;
  table.policy = "file";
  table.machine = file;
  table.last = no_end;
  reader.next("the number of collectives (1: all-reduce alone)", 1, 1);
  reader.next("the collective (2 is all-reduce)", all_reduce_of_ompi, all_reduce_of_ompi);
  const std::int64_t scales = reader.next("how many numbers of ranks there are", 1, most_entries);
  for (std::int64_t i = 0; i < scales; ++i) {
    ScaleRules scale = read_scale(reader);
    if (!table.scales.empty() && scale.workers <= table.scales.back().workers) {
      reader.refuse("numbers of ranks must ascend");
    }
    table.scales.push_back(std::move(scale));
  }
  reader.expect_end();
  return table;
}

}  // namespace collbench
