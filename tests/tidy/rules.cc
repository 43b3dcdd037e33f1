#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/lines.h"

namespace collbench::tidy {

namespace {

// The floors: what a folder may include besides itself. Everything points downwards.
const std::map<std::string, std::set<std::string>> allowed_folders{
    {"core", {}},
    {"topologies", {"core"}},
    {"algorithms", {"core"}},
    {"heuristics", {"core", "topologies", "algorithms"}},
    {"transports", {"core", "algorithms", "heuristics"}},
    {"simulator", {"core", "topologies", "algorithms", "heuristics", "transports"}},
    {"training", {"core", "topologies", "algorithms", "heuristics", "transports"}},
    {"bench",
     {"core", "topologies", "algorithms", "heuristics", "transports", "simulator", "training"}},
    {"cli",
     {"core", "topologies", "algorithms", "heuristics", "transports", "simulator", "training",
      "bench"}},
};
// Of transports, a simulator sees only the machine it imitates, the loop that plays on it, the sums
// and their check, so that simulated and real ones are the same.
const std::set<std::string> transports_seen_by_simulator{
    "transports/endpoint.h", "transports/exact_check.h", "transports/play/execute.h",
    "transports/kernels/kernels.h"};

// The subfolders of a floor, lowest first: each may include those before it. What lies in the floor
// itself is beneath some and above others, and is not checked.
const std::map<std::string, std::vector<std::string>> subfolders{
    {"topologies", {"networks", "import", "draw"}},
    {"heuristics", {"nccl", "structure", "calibration", "policies", "exports", "diagnosis"}},
    {"transports",
     {"kernels", "play", "faults", "shm", "cuda", "nccl", "grpc", "mpi", "gloo", "world"}},
    {"training", {"engines", "data", "workloads", "asynchronous", "simulated"}},
    {"bench", {"records", "measure", "simulated", "foreign", "verdicts", "reports", "logs"}},
};

// Third-party machinery and the folders whose sources may include it. bench/peers holds programs
// that measure other libraries by themselves.
struct Machinery {
  std::string_view include_starts_with;
  std::set<std::string> folders;
};
const std::array<Machinery, 21> machinery{{
    {"grpc", {"transports", "bench/peers"}},
    {"google/protobuf", {"transports"}},
    {"mpi.h", {"transports", "bench/peers"}},
    {"gloo/", {"transports", "bench/peers"}},
    {"nccl", {"transports"}},
    {"cuda", {"transports", "training"}},
    {"cublas", {"training"}},
    {"cudnn", {"training"}},
    {"dnnl", {"training"}},
    {"oneapi/", {"training"}},
    {"simgrid/", {"simulator", "tests/simulator"}},
    {"benchmark/", {"bench"}},
    {"openssl/", {"core"}},
    {"CLI/", {"cli"}},
    {"pugixml", {"topologies", "algorithms", "bench/reports", "bench/logs"}},
    {"zlib.h", {"bench/logs"}},
    {"boost/graph", {"topologies", "algorithms"}},
    {"boost/math", {"bench/verdicts"}},
    {"toml", {"topologies", "bench", "cli"}},
    {"spdlog/", {"transports", "cli"}},
    {"nlohmann/", {}},  // but for core/json.h
}};

const std::set<std::string> banned_words{"util", "utils", "helper", "helpers", "common",
                                         "misc", "base",  "impl",   "manager", "managers"};

std::string folder_of(const std::string& path) { return path.substr(0, path.find('/')); }

bool lies_in(const SourceFile& file, const std::set<std::string>& folders) {
  return std::any_of(folders.begin(), folders.end(), [&](const std::string& folder) {
    return file.path.starts_with(folder + "/");
  });
}

struct Include {
  int line = 0;
  bool quoted = false;
  std::string path;
};

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex pattern(R"re(\s*#\s*include\s*([<"])([^>"]+)[>"].*)re");
  std::vector<Include> found;
  for_each_line(file.text, [&](int number, const std::string& line) {
    std::smatch match;
    if (line.find('#') != line.npos && std::regex_match(line, match, pattern))
      found.push_back({number, match[1] == "\"", match[2]});
  });
  return found;
}

bool is_written_by_protoc(const std::string& path) { return path.find(".pb.") != path.npos; }

// The place of a file's subfolder in the list of its floor; -1 if it has none.
int level_of(const std::string& path) {
  const auto floor = subfolders.find(folder_of(path));
  if (floor == subfolders.end()) return -1;
  const std::string rest = path.substr(floor->first.size() + 1);
  const auto& names = floor->second;
  const auto found = std::find(names.begin(), names.end(), folder_of(rest));
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

Complaints check_subfolders(const SourceFile& file) {
  Complaints complaints;
  const int own = level_of(file.path);
  if (own < 0) return complaints;
  for (const Include& include : includes_of(file)) {
    if (!include.quoted || folder_of(include.path) != folder_of(file.path)) continue;
    if (level_of(include.path) <= own) continue;
    complaints.push_back(
        at(file, include.line, include.path + " lies above the folder of this file"));
  }
  return complaints;
}

Complaints check_floors(const SourceFile& file) {
  Complaints complaints;
  const std::string folder = folder_of(file.path);
  for (const Include& include : includes_of(file)) {
    // What protoc wrote lies in the build tree; check_machinery says who may include it.
    if (!include.quoted || is_written_by_protoc(include.path)) continue;
    const std::string target = folder_of(include.path);
    if (target == "tests" && is_test(file)) continue;
    if (!allowed_folders.contains(target)) {
      complaints.push_back(at(file, include.line,
                              "\"" + include.path + "\" does not start with one of our folders"));
      continue;
    }
    if (is_test(file) || target == folder) continue;
    const bool peeks = folder == "simulator" && target == "transports" &&
                       !transports_seen_by_simulator.contains(include.path);
    if (peeks || !allowed_folders.at(folder).contains(target)) {
      complaints.push_back(at(file, include.line, folder + " may not include " + include.path));
    }
  }
  return complaints;
}

Complaints check_machinery(const SourceFile& file) {
  Complaints complaints;
  for (const Include& include : includes_of(file)) {
    const std::string path = is_written_by_protoc(include.path) ? "google/protobuf" : include.path;
    for (const Machinery& m : machinery) {
      if (!path.starts_with(m.include_starts_with)) continue;
      if (file.path == "core/json.h" && m.include_starts_with == std::string_view("nlohmann/")) {
        continue;
      }
      if (is_header(file)) {
        complaints.push_back(at(file, include.line, "a header may not include " + include.path));
      } else if (!is_test(file) && !lies_in(file, m.folders)) {
        complaints.push_back(
            at(file, include.line, file.path + " may not include " + include.path));
      }
    }
  }
  return complaints;
}

Complaints check_size(const SourceFile& file) {
  Complaints complaints;
  int lines = 0;
  for_each_line(file.text, [&](int number, const std::string& line) {
    lines = number;
    // Bytes that continue a UTF-8 character take no column.
    const auto columns =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    if (columns > 100) {
      complaints.push_back(at(file, number, std::to_string(columns) + " columns; at most 100"));
    }
  });
  if (lines > 400) {
    complaints.push_back(at(file, lines, std::to_string(lines) + " lines; at most 400"));
  }
  return complaints;
}

Complaints check_function_length(const SourceFile& file) {
  Complaints complaints;
  for (const FunctionLines& f : functions_of(file.text)) {
    const int lines = f.last - f.first + 1;
    if (lines <= 70) continue;
    complaints.push_back(
        at(file, f.first, "function of " + std::to_string(lines) + " lines; at most 70"));
  }
  return complaints;
}

Complaints check_prose(const SourceFile& file) {
  if (!is_header(file)) return {};
  Complaints complaints;
  if (!file.text.starts_with("// ") || file.text.find(' ', 3) > file.text.find('\n')) {
    complaints.push_back(at(file, 1, "a header starts with a sentence that says what it is"));
  }
  if (file.text.find("\n#pragma once\n") == std::string::npos) {
    complaints.push_back(at(file, 1, "#pragma once is missing"));
  }
  return complaints;
}

Complaints check_name(const SourceFile& file) {
  Complaints complaints;
  const std::size_t slash = file.path.rfind('/');
  const std::string name = file.path.substr(slash + 1);
  std::istringstream words(name.substr(0, name.find('.')));
  for (std::string word; std::getline(words, word, '_');) {
    if (banned_words.contains(word)) {
      complaints.push_back(at(file, 1, "'" + word + "' says nothing; name it after its concept"));
    }
  }
  static const std::regex snake_case("[a-z0-9_]+\\.(h|cc|cu|cuh)");
  if (!std::regex_match(name, snake_case)) {
    complaints.push_back(at(file, 1, "file names are snake_case"));
  }
  return complaints;
}

// Complains about every line of `text` that matches, in a text with one of `words`, without which
// none does: matching takes a hundred times as long as looking for them.
Complaints search(const SourceFile& file, const std::string& text,
                  std::initializer_list<std::string_view> words, const std::regex& pattern,
                  const std::string& what) {
  const auto is_there = [&](std::string_view word) { return text.find(word) != text.npos; };
  if (std::none_of(words.begin(), words.end(), is_there)) return {};
  Complaints complaints;
  for_each_line(text, [&](int number, const std::string& line) {
    if (std::regex_search(line, pattern)) complaints.push_back(at(file, number, what));
  });
  return complaints;
}

Complaints check_unfinished(const SourceFile& file) {
  // The brackets keep this line from breaking its own rule.
  static const std::regex pattern(R"(\b(TO[D]O|FIX[M]E|XX[X])\b)");
  return search(file, file.text, {"TO", "FIX", "XX"}, pattern,
                "unfinished work belongs into an issue");
}

Complaints check_output(const SourceFile& file) {
  if (lies_in(file, {"cli", "tests", "bench/gpu", "bench/peers"})) return {};
  static const std::regex pattern(
      "std::(cout|cerr|clog)\\b|\\b(v?f?printf|f?puts|putchar)\\s*\\(|\\bfmt::print(ln)?\\s*\\(");
  return search(file, code_of(file.text), {"std::c", "print", "puts", "putchar"}, pattern,
                "libraries return or throw; only cli/ prints");
}

// std::minmax(a, f()) is a pair of references, of which one ends with the statement; in debug
// builds what it refers to is often still there.
Complaints check_references(const SourceFile& file) {
  static const std::regex pattern(
      R"(auto \[[^\]]*\] = std::minmax\([^{;]*[(+*-]|auto&+ \w+ = std::(min|max)\([^{;]*[(+*-])");
  return search(
      file, code_of(file.text), {"= std::min", "= std::max"}, pattern,
      "keeps a reference to what ends with the statement: std::minmax({a, b}) has values");
}

// How the operations of a round as written add up is read in one place, so that no two readers
// differ; combinators move operations, and two tables show them as they are written.
Complaints check_rounds(const SourceFile& file) {
  if (file.path == "algorithms/resolve.cc" || lies_in(file, {"tests"})) return {};
  const std::string code = code_of(file.text);
  static const std::regex reads(
      "[=!]=\\s*(\\w+::)*OpKind::recv_reduce\\b|\\bOpKind::recv_reduce\\s*[=!]=|"
      "\\bcase\\s+OpKind::recv_reduce\\b");
  Complaints complaints = search(file, code, {"recv_reduce"}, reads,
                                 "only algorithms/resolve.cc reads what recv_reduce means; others "
                                 "read the receipts of resolve()");
  if (lies_in(file, {"algorithms", "bench/micro"}) || file.path == "cli/algos.cc")
    return complaints;
  static const std::regex raw("\\.ops\\(\\)");
  for (const std::string& complaint :
       search(file, code, {".ops()"}, raw, "reads a round raw; resolve() says what it means")) {
    complaints.push_back(complaint);
  }
  return complaints;
}

// Builds that precompile these would not notice that a header lacks one (collbench_precompiled in
// cmake/CollbenchLibrary.cmake has the same list).
struct Precompiled {
  std::string_view header;
  const char* use;
};
const std::array<Precompiled, 9> precompiled{{
    {"cstdint", "std::u?int(8|16|32|64|ptr)_t\\b"},
    {"functional", "std::function<"},
    {"map", "std::map<"},
    {"memory", "std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared)<"},
    {"optional", "std::(optional<|nullopt)"},
    {"span", "std::span<"},
    {"string", "std::(string|to_string)\\b"},
    {"vector", "std::vector<"},
    {"fmt/format.h", "fmt::format\\b"},
}};

Complaints check_includes(const SourceFile& file) {
  if (!is_header(file)) return {};
  Complaints complaints;
  const std::vector<Include> includes = includes_of(file);
  const std::string code = code_of(file.text);
  static const std::vector<std::regex> uses = [] {
    std::vector<std::regex> all;
    for (const Precompiled& each : precompiled) all.emplace_back(each.use);
    return all;
  }();
  for (std::size_t i = 0; i < precompiled.size(); ++i) {
    const std::string_view header = precompiled[i].header;
    const bool included =
        std::any_of(includes.begin(), includes.end(),
                    [&](const Include& include) { return include.path == header; });
    std::smatch match;
    if (included || !std::regex_search(code, match, uses[i])) continue;
    const auto line = 1 + std::count(code.begin(), match[0].first, '\n');
    complaints.push_back(
        at(file, static_cast<int>(line), "needs #include <" + std::string(header) + ">"));
  }
  return complaints;
}

constexpr std::array<Rule, 12> all_rules{{
    {"floors", "includes point downwards", check_floors},
    {"subfolders", "includes point downwards within a floor, too", check_subfolders},
    {"machinery", "third-party machinery stays in the sources of its folder", check_machinery},
    {"includes", "headers include themselves what is precompiled", check_includes},
    {"size", "at most 400 lines of at most 100 columns", check_size},
    {"function_length", "functions of at most 70 lines", check_function_length},
    {"prose", "headers start with prose, and #pragma once", check_prose},
    {"name", "files are named after a concept, in snake_case", check_name},
    {"unfinished", "no unfinished work", check_unfinished},
    {"output", "only cli/ prints", check_output},
    {"references", "no reference outlives what it is of", check_references},
    {"rounds", "rounds are read through resolve()", check_rounds},
}};

}  // namespace

std::span<const Rule> rules() { return all_rules; }

}  // namespace collbench::tidy
