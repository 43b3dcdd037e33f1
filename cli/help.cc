// Help texts, made by walking the tree of commands and options, and what to say about unknown ones.
#include <algorithm>
#include <iostream>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/declare.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::size_t text_column = 32;

constexpr std::string_view root_footer = R"(
Long options can also be set as COLLBENCH_<NAME> in the environment, in ./collbench.toml or in
~/.config/collbench/config.toml; flags win, then the environment, --config FILE, the files. These
are flags only: --config, --dry-run, --dump-config, --help, --list and --version. Of the commands,
simulate and select take the environment and --config FILE; all others take flags only.

Examples:
  collbench --algo ring --workers 8            a ring all-reduce of 8 workers on this machine
  collbench --algo auto,gloo,mpi -W 2,4        this program against its peers, in one run
  collbench -B grpc -b 64M --json out.json     64 MiB between processes, all samples kept
  collbench --collective reduce-scatter -W 4   or all-gather, broadcast, reduce
  collbench algos show double-tree -W 8        what each rank sends, receives and reduces

Exit codes:
  0 ok   1 too slow (--min-busbw)   2 usage   3 wrong result   4 not available   5 run failed
  77 all skipped   130, 143 interrupted (what was measured is kept)
)";

/// In lines of a terminal's width, all of which begin at the column of texts.
std::string in_column(const std::string& text) {
  constexpr std::size_t width = 100;
  std::istringstream words(text);
  std::string lines;
  std::size_t used = text_column;
  for (std::string word; words >> word;) {
    if (used > text_column && used + 1 + word.size() > width) {
      lines += "\n" + std::string(text_column, ' ');
      used = text_column;
    } else if (used > text_column) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
  }
  return lines;
}

std::string row(const std::string& left, const std::string& right) {
  std::string line = "  " + left;
  if (line.size() + 2 > text_column) {
    line += "\n";
    line += std::string(text_column, ' ');
  } else {
    line.resize(text_column, ' ');
  }
  return line + in_column(right) + "\n";
}

std::string option_left(const CLI::Option& option) {
  std::string names;
  for (const std::string& letter : option.get_snames()) names += "-" + letter + ", ";
  if (names.empty()) names = "    ";
  names += fmt::format("--{}", fmt::join(option.get_lnames(), ", --"));
  const bool is_flag = option.get_expected_max() == 0;
  return is_flag ? names : names + " " + option.get_option_text();
}

std::string positionals_usage(const CLI::App& app) {
  std::string usage;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_option_text();
    usage += option->get_required() ? " " + name : " [" + name + "]";
  }
  return usage;
}

std::vector<const CLI::App*> visible_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : path_of(*app.get_parent()) + " " + app.get_name();
}

/// What stands below the options.
std::string closing_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return std::string(root_footer);
  const std::string path = path_of(app);
  return examples_of(std::string_view(path).substr(std::min(path.find(' ') + 1, path.size())));
}

/// Names in lines of a terminal's width.
std::string names_in_lines(const std::vector<const CLI::App*>& commands) {
  constexpr std::size_t most = 96;
  std::string lines = "\nCommands:";
  std::size_t used = lines.size();
  for (const CLI::App* command : commands) {
    const std::string name = " " + command->get_name();
    if (used + name.size() > most) {
      lines += "\n ";
      used = 1;
    }
    lines += name;
    used += name.size();
  }
  return lines + "\n";
}

/// With `brief` the options that have a letter, which are the usual ones.
std::string help_of(const CLI::App& app, bool brief) {
  const auto commands = visible_commands(app);
  const bool is_root = app.get_parent() == nullptr;
  std::string out = app.get_description() + "\n\nusage: " + path_of(app);
  if (!commands.empty()) out += is_root ? " [COMMAND]" : " COMMAND";
  out += positionals_usage(app) + " [OPTIONS]\n";
  if (brief && is_root) out += names_in_lines(commands);
  if (!brief && !commands.empty()) out += "\nCommands:\n";
  for (const CLI::App* command : commands) {
    if (brief && is_root) break;
    out += row(command->get_name() + positionals_usage(*command), command->get_description());
  }
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group == "Arguments"; });
  for (const std::string& group : groups) {
    const auto options = app.get_options([&](const CLI::Option* option) {
      const bool usual = option->get_positional() || !option->get_snames().empty();
      return !group.empty() && option->get_group() == group && (usual || !brief);
    });
    if (!options.empty()) out += "\n" + group + ":\n";
    for (const CLI::Option* option : options) {
      const bool positional = option->get_positional();
      out += row(positional ? option->get_option_text() : option_left(*option),
                 option->get_description());
    }
  }
  if (brief) return out + fmt::format("\nAll options, and examples: {} --help\n", path_of(app));
  return out + closing_of(app);
}

/// The deepest command that the parse chose; the root for `run`, whose options stand there.
const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() || chosen.back()->get_name() == "run") return app;
  return chosen_command(*chosen.back());
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : visible_commands(app)) names.push_back(command->get_name());
  return names;
}

/// `collbench help [COMMAND...]`.
int show_help(const CLI::App& root, const std::vector<std::string>& words) {
  const CLI::App* app = &root;
  for (const std::string& word : words) {
    index_of("command", word, command_names(*app));
    if (word != "run") app = app->get_subcommand(word);
  }
  std::cout << help_of(*app, false);
  return exit_ok;
}

/// What other benchmarks call something that has another name here.
struct ForeignFlag {
  std::string_view name;
  std::string_view meaning;
};
constexpr ForeignFlag foreign_flags[] = {
    {"-g", "GPUs of a thread in nccl-tests; here all workers together are --workers (-W)"},
    {"--ngpus", "GPUs of a thread in nccl-tests; here all workers together are --workers (-W)"},
    {"-t", "threads in nccl-tests; here all workers together are --workers (-W)"},
    {"--nthreads", "threads in nccl-tests; here all workers together are --workers (-W)"},
    {"-o", "the operator in nccl-tests; here --op, and -o is the output file of other commands"},
    {"-m",
     "-m MIN:MAX of OSU is -b MIN -e MAX here; operations without a barrier between, -m of "
     "nccl-tests, are in every record (back_to_back_ns)"},
    {"--message-size", "of OSU, MIN:MAX; here -b MIN -e MAX"},
    {"-x", "iterations before timing in OSU; here --warmup-iters (-w)"},
    {"--warmup", "iterations before timing; here --warmup-iters (-w)"},
    {"--iterations", "here --iters (-n)"},
    {"-a", "what nccl-tests averages over ranks; here a time ends with the last rank"},
    {"-p", "nccl-tests' parallel initialisation; workers always start together here"},
    {"-z", "nccl-tests' blocking collectives; here every iteration is timed from a barrier"},
    {"-G", "CUDA graphs in nccl-tests; here --executor graph, for cuda"},
    {"-M", "OSU's limit of memory; here cases that do not fit are refused"},
    {"-np", "of mpirun: before collbench on its line; without it --workers (-W)"},
};

std::string foreign_meaning(std::string_view name) {
  const auto found = std::ranges::find(foreign_flags, name, &ForeignFlag::name);
  return found == std::end(foreign_flags) ? "" : fmt::format(" {}", found->meaning);
}

/// A word that is no command and stands first is a command that was misspelt; what follows it is of
/// that.
void refuse_unknown_command(const CLI::App& where, const std::string& first) {
  const bool is_command = where.get_parent() == nullptr && where.get_subcommands().empty();
  if (!is_command || first.starts_with('-')) return;
  throw InvalidArgument(unknown_name("command", first, command_names(where)));
}

}  // namespace

std::string help_text(const CLI::App& app, bool brief) {
  return help_of(chosen_command(app), brief);
}

std::string usage_hint(const CLI::App& app) {
  return fmt::format("try 'collbench{} --help'\n", words_of(chosen_command(app)));
}

void refuse_leftovers(const CLI::App& app) {
  std::vector<std::string> left = app.remaining(true);
  std::erase(left, "--");  // CLI11 keeps the mark before positional arguments
  if (left.empty()) return;
  const CLI::App& where = chosen_command(app);
  refuse_unknown_command(where, left.front());
  for (const std::string& word : left) {
    if (word.size() < 2 || word[0] != '-') continue;
    const std::string name = word.substr(0, word.find('='));
    std::string meaning = &where == &app ? foreign_meaning(name) : "";
    std::vector<std::string> others = commands_with(name);
    if (meaning.empty() && !others.empty()) {
      if (others.size() > 4) others.resize(4);
      meaning = fmt::format(" an option of '{}'", fmt::join(others, "', '"));
    }
    throw InvalidArgument(
        fmt::format("unknown option '{}'{}{}", name, meaning.empty() ? "." : ":",
                    meaning.empty() ? did_you_mean(name, option_names(where)) : meaning));
  }
  const std::string& word = left.front();
  const auto names = command_names(where);
  require(!names.empty() && app.get_subcommands().empty() == (&where == &app),
          fmt::format("unexpected argument '{}'", word));
  throw InvalidArgument(unknown_name("command", word, names));
}

void add_help(CLI::App& app, Action& action) {
  static constexpr OptionRow rows[] = {
      {arguments_group, "COMMAND", "", "COMMAND...", "", "the command, as in 'algos show'"}};
  add_command(app, "help", "show the help of a command", rows, action,
              [&app](const CLI::App& help) { return show_help(app, help["COMMAND"]->results()); });
}

}  // namespace collbench
