#include "transports/world/slurm_nodes.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

constexpr std::size_t most_nodes = 65'536;

class NodeListReader {
 public:
  explicit NodeListReader(std::string_view list) : list_(list) {}

  std::vector<std::string> nodes() const {
    std::vector<std::string> all;
    for (const std::string_view name : split(list_)) {
      for (std::string& node : expand(name)) all.push_back(std::move(node));
      limit(all.size());
    }
    return all;
  }

 private:
  [[noreturn]] void refuse(const char* why) const {
    throw InvalidArgument(fmt::format("the list of nodes '{}' {}", list_, why));
  }
  void limit(std::size_t count) const {
    if (count > most_nodes) refuse("names more than 65536");
  }

  /// Parts between commas that are in no bracket.
  std::vector<std::string_view> split(std::string_view text) const {
    std::vector<std::string_view> parts;
    bool inside = false;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] == '[') {
        if (inside) refuse("has a '[' within brackets");
        inside = true;
      } else if (i < text.size() && text[i] == ']') {
        if (!inside) refuse("has a ']' without '['");
        inside = false;
      } else if (i == text.size() || (text[i] == ',' && !inside)) {
        if (i == begin) refuse("has an empty name");
        parts.push_back(text.substr(begin, i - begin));
        begin = i + 1;
      }
    }
    if (inside) refuse("has no ']'");
    return parts;
  }

  std::vector<std::string> expand(std::string_view name) const {
    std::vector<std::string> heads = {""};
    while (!name.empty()) {
      const std::size_t open = name.find('[');
      for (std::string& head : heads) head += name.substr(0, open);
      if (open == std::string_view::npos) break;
      const std::size_t close = name.find(']', open);
      const std::vector<std::string> tails = numbers(name.substr(open + 1, close - open - 1));
      limit(heads.size() * tails.size());
      std::vector<std::string> longer;
      for (const std::string& head : heads) {
        for (const std::string& tail : tails) longer.push_back(head + tail);
      }
      heads = std::move(longer);
      name.remove_prefix(close + 1);
    }
    return heads;
  }

  /// "03-05,11": 03, 04, 05, 11.
  std::vector<std::string> numbers(std::string_view ranges) const {
    std::vector<std::string> all;
    for (const std::string_view range : split(ranges)) {
      const std::size_t dash = range.find('-');
      const std::string_view first = range.substr(0, dash);
      const int low = number(first);
      const int high = dash == std::string_view::npos ? low : number(range.substr(dash + 1));
      if (high < low) refuse("counts down");
      limit(all.size() + static_cast<std::size_t>(high - low) + 1);
      for (int i = low; i <= high; ++i) all.push_back(fmt::format("{:0{}}", i, first.size()));
    }
    return all;
  }

  int number(std::string_view digits) const {
    const auto value = small_integer_in(digits, 0, 999'999'999);
    const bool good = value && digits.size() <= 9 && digits.front() != '-';  // "-0" is none
    if (!good) refuse("has no number where one belongs");
    return *value;
  }

  std::string_view list_;
};

}  // namespace

std::vector<std::string> expand_node_list(std::string_view list) {
  return NodeListReader(list).nodes();
}

}  // namespace collbench
