#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/rules.h"

namespace collbench::tidy {
namespace {

constexpr std::string_view table = "transports/world/backend.cc";

std::string names_in_table(std::span<const SourceFile> files) {
  static const std::regex row(R"re(\.name = "(\w+)")re");
  std::string names;
  for (const SourceFile& file : files) {
    if (file.path != table) continue;
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), row), end; match != end;
         ++match) {
      names += (names.empty() ? "" : "|") + (*match)[1].str();
    }
  }
  return names;
}

}  // namespace

Complaints back_ends_by_name(std::span<const SourceFile> files) {
  const std::string names = names_in_table(files);
  if (names.empty()) return {std::string(table) + ":1: the rows of the table were not found"};
  const std::regex named("back_?end\\w*\\W[^;]*\"(" + names + ")\"", std::regex::icase);
  const std::set<std::string> above = {"training", "bench", "cli"};
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!above.contains(file.path.substr(0, file.path.find('/')))) continue;
    std::istringstream lines(file.text);
    std::string line;
    for (int number = 1; std::getline(lines, line); ++number) {
      const std::string code = line.substr(0, line.find("//"));
      std::smatch match;
      if (!std::regex_search(code, match, named)) continue;
      complaints.push_back(file.path + ":" + std::to_string(number) + ": the back end \"" +
                           match[1].str() + "\" by name; ask its row of the table what it can do");
    }
  }
  return complaints;
}

}  // namespace collbench::tidy
