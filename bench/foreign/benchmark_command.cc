#include "bench/foreign/benchmark_command.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/parse.h"

namespace collbench {
namespace {

constexpr int most_processes = 1 << 24;
constexpr std::array<std::string_view, 7> launchers = {
    "mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "srun", "aprun"};

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_launcher(std::string_view word) {
  const std::string_view name = file_name(word);
  return std::find(launchers.begin(), launchers.end(), name) != launchers.end();
}

bool is_benchmark(std::string_view word) {
  const std::string_view name = file_name(word);
  return name.starts_with("osu_") || name.find("IMB-") != name.npos || name.ends_with("_perf");
}

/// What one launcher's options say. 0: nothing.
struct Asked {
  int ranks = 0;
  int nodes = 0;
  int per_node = 0;

  void read(std::string_view option, std::string_view value, bool is_srun) {
    const int count = small_integer_in(value, 1, most_processes).value_or(0);
    if (is_one_of(option, {"-n", "-np", "--n", "--np", "--ntasks"})) ranks = count;
    if (is_one_of(option,
                  {"-ppn", "--ppn", "-perhost", "-npernode", "--npernode", "--ntasks-per-node"})) {
      per_node = count;
    }
    if (option == "-N") (is_srun ? nodes : per_node) = count;
    if (option == "--nodes") nodes = count;
    // --map-by ppr:8:node
    if (option == "--map-by" && value.starts_with("ppr:")) {
      const std::vector<std::string> parts = split_at(std::string(value), ':');
      if (parts.size() >= 3 && parts[2].starts_with("node")) {
        per_node = small_integer_in(parts[1], 1, most_processes).value_or(0);
      }
    }
  }

  std::optional<Scale> scale() const {
    Scale scale{ranks, nodes};
    const std::int64_t on_nodes = std::int64_t{nodes} * per_node;
    if (ranks == 0 && on_nodes <= most_processes) scale.ranks = static_cast<int>(on_nodes);
    if (scale.ranks == 0) return std::nullopt;
    if (nodes == 0 && per_node > 0) scale.nodes = (scale.ranks + per_node - 1) / per_node;
    if (scale.nodes > 0 && scale.ranks % scale.nodes != 0) scale.nodes = 0;
    return scale;
  }
};

/// Nothing where no benchmark is launched.
std::optional<Asked> asked_by(std::string_view command) {
  const std::vector<std::string_view> words = split_at_blanks(command);
  const auto launcher = std::find_if(words.begin(), words.end(), is_launcher);
  const auto program = std::find_if(launcher, words.end(), is_benchmark);
  if (program == words.end()) return std::nullopt;
  const bool is_srun = file_name(*launcher) == "srun";
  Asked asked;
  for (auto word = launcher + 1; word != program; ++word) {
    const std::size_t equals = word->find('=');
    if (equals != word->npos) {
      asked.read(word->substr(0, equals), word->substr(equals + 1), is_srun);
    } else {
      asked.read(*word, *(word + 1), is_srun);
    }
  }
  return asked;
}

}  // namespace

void BenchmarkCommand::add(std::string_view line) {
  const bool goes_on = line.ends_with('\\');
  command_ += goes_on ? line.substr(0, line.size() - 1) : line;
  command_ += ' ';
  if (goes_on) return;
  if (const auto asked = asked_by(command_)) scale_ = asked->scale();
  command_.clear();
}

}  // namespace collbench
