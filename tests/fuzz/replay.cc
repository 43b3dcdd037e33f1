// All fuzz targets in one program. Built for libFuzzer, the variable FUZZ_TARGET names the one that
// is tried. Otherwise one is run once on every file of the folders given: the corpus as a
// regression test.
//
//     collbench_replay NAME FOLDER... [--mutations N [--seed S] [--last FILE]]
//
// With --mutations, files that are changed at random are tried as well: N inputs that depend on S
// alone, for a compiler without a fuzzer of its own. Each is written to FILE before it is tried, so
// that the last one is there after a crash.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/fuzz_target.h"

#ifdef COLLBENCH_FUZZER

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto target = collbench::fuzz_targets().at(std::getenv("FUZZ_TARGET"));
  target({reinterpret_cast<const char*>(data), size});
  return 0;
}

#else

namespace {

std::vector<std::string> corpus_files(const std::vector<std::string>& folders) {
  std::vector<std::string> texts;
  for (const std::string& folder : folders) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const std::filesystem::path& path : paths) {
      std::ifstream file(path, std::ios::binary);
      texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  return texts;
}

// One to four changes to one of the files, each of which a parser has to survive.
std::string mutated(const std::vector<std::string>& files, std::mt19937_64& draw) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(draw() % n); };
  static const std::vector<std::string> pieces = {"-1",
                                                  "0",
                                                  "1e999",
                                                  "nan",
                                                  "99999999999999999999",
                                                  "2147483648",
                                                  "null",
                                                  "\"\"",
                                                  "{",
                                                  "]",
                                                  "<",
                                                  "\n",
                                                  "\"",
                                                  "#",
                                                  ",",
                                                  ":",
                                                  std::string(1, '\0'),
                                                  "\xff\xff\xff\xff",
                                                  "\x1b[2J",
                                                  std::string(2000, '['),
                                                  std::string(500, ' ')};
  std::string text = files[below(files.size())];
  for (std::size_t left = 1 + below(4); left > 0; --left) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(text.size() - at, 64) + 1);
    switch (below(7)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(draw());
        break;
      case 2:
        if (at < text.size()) text[at] ^= static_cast<char>(1U << below(8));
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(below(text.size() + 1), text.substr(at, length));
        break;
      case 5:
        text.replace(at, length, pieces[below(pieces.size())]);
        break;
      default: {
        const std::string& other = files[below(files.size())];
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const auto found = collbench::fuzz_targets().find(argc < 2 ? "" : argv[1]);
  if (found == collbench::fuzz_targets().end()) {
    std::cerr << "usage: collbench_replay NAME FOLDER..., where NAME is one of";
    for (const auto& [name, run] : collbench::fuzz_targets()) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  const auto run_once = [&](std::string_view input) {
    // A copy of exactly this size: a sanitizer notices a read beyond it.
    const std::vector<char> bytes(input.begin(), input.end());
    found->second({bytes.data(), bytes.size()});
  };
  std::vector<std::string> folders;
  std::string last;
  long mutations = 0;
  std::mt19937_64 draw(1);
  for (int i = 2; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.substr(0, 2) == "--" && i + 1 == argc) return 2;
    if (word == "--mutations") {
      mutations = std::atol(argv[++i]);
    } else if (word == "--seed") {
      draw.seed(static_cast<std::uint64_t>(std::atol(argv[++i])));
    } else if (word == "--last") {
      last = argv[++i];
    } else {
      folders.emplace_back(word);
    }
  }
  const std::vector<std::string> files = corpus_files(folders);
  if (files.empty()) return 1;
  for (const std::string& file : files) run_once(file);
  for (long i = 0; i < mutations; ++i) {
    const std::string input = mutated(files, draw);
    if (!last.empty()) std::ofstream(last, std::ios::binary | std::ios::trunc) << input;
    run_once(input);
  }
  std::cout << files.size() << " inputs replayed, " << mutations << " mutations tried\n";
  return 0;
}

#endif
