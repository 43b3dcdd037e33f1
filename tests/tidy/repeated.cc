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

Complaints repeated_unnamed(std::span<const SourceFile> files) {
  static const std::regex type(R"(^(?:struct|class|enum class) (\w+)[^;]*\{.*|^using (\w+) = .*)");
  static const std::regex constant(R"(^(?:constexpr|const) [^(]*?(\w+)(?:\[\w*\])?(?: = |\{).*)");
  std::map<std::string, std::string> types_of_headers;
  struct First {
    std::string place;
    std::string line;
  };
  std::map<std::pair<std::string, std::string>, First> firsts;  // by batch and name
  Complaints complaints;
  const auto each_definition = [&](const SourceFile& file, const auto& visit) {
    std::vector<std::string> code;
    for_each_line(code_of(file.text), [&](int, const std::string& line) { code.push_back(line); });
    bool counts = is_header(file);
    for_each_line(file.text, [&](int number, const std::string& line) {
      if (line == "namespace {") counts = true;
      if (line == "}  // namespace") counts = false;
      const std::string& here = code[static_cast<std::size_t>(number - 1)];
      std::smatch match;
      if (!counts || here.starts_with(' ')) return;
      if (std::regex_match(here, match, type)) {
        visit(number, match[1].matched ? match[1].str() : match[2].str(), here);
      } else if (!is_header(file) && std::regex_match(here, match, constant)) {
        visit(number, match[1].str(), here);
      }
    });
  };
  for (const SourceFile& file : files) {
    if (!is_header(file) || is_test(file)) continue;
    each_definition(file, [&](int number, const std::string& name, const std::string&) {
      types_of_headers.emplace(name, file.path + ":" + std::to_string(number));
    });
  }
  for (const SourceFile& file : files) {
    if (is_header(file) || is_test(file) || batch_of(file.path) == file.path) continue;
    each_definition(file, [&](int number, const std::string& name, const std::string& line) {
      const First here{file.path + ":" + std::to_string(number), line};
      const auto [first, is_new] = firsts.emplace(std::pair(batch_of(file.path), name), here);
      const auto of_header = types_of_headers.find(name);
      if (is_new && of_header == types_of_headers.end()) return;
      if (!is_new && line == first->second.line && line.starts_with("using ")) return;
      complaints.push_back(
          at(file, number,
             name + " is also defined at " + (is_new ? of_header->second : first->second.place)));
    });
  }
  return complaints;
}

}  // namespace collbench::tidy
