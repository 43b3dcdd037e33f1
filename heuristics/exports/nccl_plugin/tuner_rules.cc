#include "heuristics/exports/nccl_plugin/tuner_rules.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "heuristics/nccl/nccl_names.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 5> collectives{"broadcast", "reduce", "allgather",
                                                      "reducescatter", "allreduce"};

constexpr std::size_t longest_line = 255;  // that the example plugin reads in one piece
constexpr int most_rule_channels = 64;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t start = 0; start <= line.size();) {
    const std::size_t end = std::min(line.find(',', start), line.size());
    fields.push_back(trimmed(line.substr(start, end - start)));
    start = end + 1;
  }
  return fields;
}

/// One line, with what its errors begin with.
class RuleReader {
 public:
  RuleReader(std::string_view line, const std::string& file, int number)
      : line_(line), where_(file + ":" + std::to_string(number) + ": "), number_(number) {}

  TunerRule rule() const {
    if (line_.size() > longest_line) refuse("the line is longer than 255 characters");
    const std::vector<std::string_view> fields = fields_of(line_);
    if (fields.size() < 8 || fields.size() > 10) {
      refuse("has " + std::to_string(fields.size()) +
             " fields; 8 to 10 are right: collective,min_bytes,max_bytes,algorithm,protocol,"
             "channels,nodes,ranks[,pipe_ops[,buffers]]");
    }
    TunerRule rule;
    rule.line = number_;
    rule.collective = name("collective", fields[0], collectives);
    rule.min_bytes = number<std::uint64_t>("min_bytes", fields[1], 0, any_bytes);
    rule.max_bytes = number<std::uint64_t>("max_bytes", fields[2], 0, any_bytes);
    if (rule.max_bytes < rule.min_bytes) refuse("max_bytes is below min_bytes");
    rule.algorithm = name("algorithm", fields[3], nccl_algorithm_names);
    rule.protocol = name("protocol", fields[4], nccl_protocol_names);
    rule.channels = number<int>("channels", fields[5], -1, most_rule_channels);
    if (rule.channels == 0) refuse("channels must be -1 (NCCL's own number) or 1 to 64");
    rule.nodes = scale("nodes", fields[6]);
    rule.ranks = scale("ranks", fields[7]);
    if (fields.size() > 8) {
      rule.pipe_ops = number<int>("pipe_ops", fields[8], -1, std::numeric_limits<int>::max());
    }
    if (fields.size() > 9) rule.registered_buffers = number<int>("buffers", fields[9], -1, 1);
    if (rule.algorithm >= 2 && rule.algorithm != 6 && rule.protocol != 2) {
      refuse(std::string(nccl_algorithm_names[static_cast<std::size_t>(rule.algorithm)]) +
             " exists with protocol simple only");
    }
    return rule;
  }

 private:
  static constexpr std::uint64_t any_bytes = std::numeric_limits<std::uint64_t>::max();

  [[noreturn]] void refuse(const std::string& what) const { throw TunerFileError(where_ + what); }

  int name(const char* what, std::string_view text, std::span<const std::string_view> known) const {
    const auto found = std::find(known.begin(), known.end(), text);
    if (found != known.end()) return static_cast<int>(found - known.begin());
    std::string names;
    for (const std::string_view one : known) {
      names += (names.empty() ? "" : ", ") + std::string(one);
    }
    refuse("unknown " + std::string(what) + " '" + std::string(text) + "'; known are " + names);
  }

  template <typename Number>
  Number number(const char* what, std::string_view text, Number least, Number most) const {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && value >= least && value <= most) return value;
    refuse(std::string(what) + " '" + std::string(text) + "' must be a whole number from " +
           std::to_string(least) + " to " + std::to_string(most));
  }

  std::int64_t scale(const char* what, std::string_view text) const {
    const auto value = number<std::int64_t>(what, text, -1, std::int64_t{1} << 31);
    if (value == 0) refuse(std::string(what) + " must be -1 (any) or at least 1");
    return value;
  }

  std::string_view line_;
  std::string where_;
  int number_;
};

bool fits(std::int64_t wanted, std::int64_t value) { return wanted == -1 || wanted == value; }

}  // namespace

std::vector<TunerRule> parse_tuner_rules(std::string_view text, const std::string& file) {
  std::vector<TunerRule> rules;
  int number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = trimmed(text.substr(start, end - start));
    ++number;
    start = end + 1;
    if (line.empty() || line.front() == '#') continue;
    rules.push_back(RuleReader(line, file, number).rule());
  }
  return rules;
}

const TunerRule* find_rule(const std::vector<TunerRule>& rules, const TunerQuestion& question) {
  const auto matches = [&](const TunerRule& rule) {
    return rule.collective == question.collective && question.bytes >= rule.min_bytes &&
           question.bytes <= rule.max_bytes && fits(rule.nodes, question.nodes) &&
           fits(rule.ranks, question.ranks) && fits(rule.pipe_ops, question.pipe_ops) &&
           fits(rule.registered_buffers, question.registered_buffers);
  };
  const auto found = std::find_if(rules.begin(), rules.end(), matches);
  return found == rules.end() ? nullptr : &*found;
}

std::string to_string(const TunerRule& rule) {
  std::string text{collectives[static_cast<std::size_t>(rule.collective)]};
  const auto add = [&text](const std::string& field) { text += "," + field; };
  add(std::to_string(rule.min_bytes));
  add(std::to_string(rule.max_bytes));
  add(std::string(nccl_algorithm_names[static_cast<std::size_t>(rule.algorithm)]));
  add(std::string(nccl_protocol_names[static_cast<std::size_t>(rule.protocol)]));
  for (const std::int64_t value :
       {std::int64_t{rule.channels}, rule.nodes, rule.ranks, std::int64_t{rule.pipe_ops},
        std::int64_t{rule.registered_buffers}}) {
    add(std::to_string(value));
  }
  return text;
}

}  // namespace collbench
