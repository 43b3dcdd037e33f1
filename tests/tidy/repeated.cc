// The rules that compare files with each other: names defined twice.
#include <map>
#include <regex>
#include <sstream>

#include "tests/tidy/lines.h"

namespace collbench::tidy {
namespace {

/// What may be compiled as one with `path`: its folder, below transports/ the back end's. Programs
/// of bench and kernels for one processor are compiled alone.
std::string batch_of(const std::string& path) {
  static const std::regex alone(
      R"((bench/(gpu|micro|peers)/.*|.*_(baseline|avx2|avx512|x86)\.cc)|(.*\.cu))");
  static const std::regex part(R"((transports/(?:cuda|gloo|grpc|mpi|nccl|world)|\w+)/.*)");
  std::smatch match;
  if (std::regex_match(path, alone) || !std::regex_match(path, match, part)) return path;
  return match[1];
}

/// A type, another name of one, or a constant, defined at the start of a line.
struct Definition {
  std::string name;
  std::string place;  // "core/units.h:12"
  std::string line;
  bool is_type = false;
  bool is_alias = false;
  bool is_unnamed = false;  // in a source's unnamed namespace
};

template <class Visit>
void for_each_definition(const SourceFile& file, const Visit& visit) {
  static const std::regex type(R"(^(?:struct|class|enum class) (\w+)[^;]*\{.*|^using (\w+) = .*)");
  static const std::regex constant(R"(^(?:constexpr|const) [^(]*?(\w+)(?:\[\w*\])?(?: = |\{).*)");
  std::vector<std::string> code;
  for_each_line(code_of(file.text), [&](int, const std::string& line) { code.push_back(line); });
  bool is_unnamed = false;
  for_each_line(file.text, [&](int number, const std::string& line) {
    if (line == "namespace {") is_unnamed = true;
    if (line == "}  // namespace") is_unnamed = false;
    const std::string& here = code[static_cast<std::size_t>(number - 1)];
    std::smatch match;
    if (here.starts_with(' ')) return;
    const bool names_type = std::regex_match(here, match, type);
    if (!names_type && !std::regex_match(here, match, constant)) return;
    const bool is_alias = names_type && match[2].matched;
    visit(Definition{match[is_alias ? 2 : 1].str(), file.path + ":" + std::to_string(number), here,
                     names_type && !is_alias, is_alias, is_unnamed});
  });
}

}  // namespace

Complaints repeated_types(std::span<const SourceFile> files) {
  static const std::regex definition(
      R"(^(struct|class|enum class) ([A-Z]\w*)( final)?\s*(:[^;]*)?\{.*)");
  std::map<std::string, std::string> first_place;
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!is_header(file) || is_test(file)) continue;
    for_each_line(code_of(file.text), [&](int number, const std::string& line) {
      std::smatch match;
      if (!std::regex_match(line, match, definition)) return;
      const auto [place, is_new] =
          first_place.emplace(match[2], file.path + ":" + std::to_string(number));
      if (!is_new) {
        complaints.push_back(
            at(file, number,
               "the type " + std::string(match[2]) + " is also defined at " + place->second));
      }
    });
  }
  return complaints;
}

Complaints repeated_in_tests(std::span<const SourceFile> files) {
  std::map<std::string, std::string> of_production;
  for (const SourceFile& file : files) {
    if (is_test(file)) continue;
    for_each_definition(file, [&](const Definition& found) {
      if (found.is_type && !found.is_unnamed) of_production.emplace(found.name, found.place);
    });
  }
  Complaints complaints;
  for (const SourceFile& file : files) {
    // Fuzzers and stand-ins for libraries of others have nothing in the one namespace.
    if (!is_test(file) || file.text.find("\nnamespace collbench {\n") == file.text.npos) continue;
    for_each_definition(file, [&](const Definition& found) {
      const auto taken = of_production.find(found.name);
      if (!found.is_type || taken == of_production.end()) return;
      complaints.push_back(found.place + ": the type " + found.name + " is also defined at " +
                           taken->second);
    });
  }
  return complaints;
}

Complaints repeated_unnamed(std::span<const SourceFile> files) {
  std::map<std::string, std::string> types_of_headers;
  std::map<std::pair<std::string, std::string>, Definition> firsts;  // by batch and name
  Complaints complaints;
  for (const SourceFile& file : files) {
    if (!is_header(file) || is_test(file)) continue;
    for_each_definition(file, [&](const Definition& found) {
      if (found.is_type || found.is_alias) types_of_headers.emplace(found.name, found.place);
    });
  }
  for (const SourceFile& file : files) {
    if (is_header(file) || is_test(file) || batch_of(file.path) == file.path) continue;
    for_each_definition(file, [&](const Definition& found) {
      if (!found.is_unnamed) return;
      const auto [first, is_new] =
          firsts.emplace(std::pair(batch_of(file.path), found.name), found);
      const auto of_header = types_of_headers.find(found.name);
      if (is_new && of_header == types_of_headers.end()) return;
      if (!is_new && found.is_alias && found.line == first->second.line) return;
      complaints.push_back(found.place + ": " + found.name + " is also defined at " +
                           (is_new ? of_header->second : first->second.place));
    });
  }
  return complaints;
}

}  // namespace collbench::tidy
