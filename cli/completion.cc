// `collbench completion SHELL`: a script made by walking the tree of commands and options.
#include <iostream>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/settings.h"
#include "core/parse.h"
#include "core/suggest.h"
#include "simulator/simulate.h"
#include "training/engines/engine.h"
#include "transports/world/launch.h"

namespace collbench {
namespace {

/// One command for the script: the words that reach it, and what may follow them.
struct Node {
  std::string path;         // "" for the root, "algos show"
  bool is_default = false;  // its options are those of the root
  std::vector<const CLI::App*> commands;
  std::vector<const CLI::Option*> options;
};

void walk(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  const auto commands =
      app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  const bool is_default = app.get_fallthrough();
  nodes.push_back(
      {path, is_default, commands, (is_default ? *app.get_parent() : app).get_options()});
  for (const CLI::App* command : commands) {
    walk(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), nodes);
  }
}

std::vector<std::string> words_of(const Node& node) {
  std::vector<std::string> words;
  for (const CLI::App* command : node.commands) words.push_back(command->get_name());
  for (const CLI::Option* option : node.options) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

std::vector<std::string> engine_names(bool computes) {
  std::vector<std::string> names{"auto"};
  if (computes) {
    for (const ComputeEngine& engine : engines()) names.emplace_back(engine.name);
  } else {
    for (const Engine engine : {Engine::model, Engine::quotient, Engine::fluid, Engine::simgrid}) {
      names.emplace_back(to_string(engine));
    }
  }
  return names;
}

/// The words an option of a command takes, where they are known.
std::vector<std::string> values_of(const Node& node, const std::string& option) {
  const bool runs = node.path.empty() || node.is_default;
  if (option == "format" && runs) return record_format_names();
  return option == "engine" ? engine_names(node.path == "train") : option_words(option);
}

/// The options with values of all commands, as shell cases: "' --algo'|'simulate -A') words='...'".
/// Where no words are known, a blank leads to names of files.
std::string value_cases(const std::vector<Node>& nodes) {
  std::map<std::string, std::string> patterns;  // by words
  for (const Node& node : nodes) {
    for (const CLI::Option* option : node.options) {
      if (option->get_lnames().empty()) continue;
      const auto values = values_of(node, option->get_lnames().front());
      if (option->get_expected_max() == 0) continue;
      std::string& names = patterns[fmt::format("{} ", fmt::join(values, " "))];
      const auto add = [&](const std::string& name) {
        names += fmt::format("{}'{} {}'", names.empty() ? "" : "|", node.path, name);
      };
      for (const std::string& name : option->get_lnames()) add("--" + name);
      for (const std::string& letter : option->get_snames()) add("-" + letter);
    }
  }
  std::string out;
  for (const auto& [words, names] : patterns) {
    out += fmt::format("    {}) words='{}' ;;\n", names, words);
  }
  return out;
}

std::string bash_script(const std::vector<Node>& nodes) {
  std::string commands;
  for (const Node& node : nodes) {
    commands +=
        fmt::format("      '{}') words='{}' ;;\n", node.path, fmt::join(words_of(node), " "));
  }
  std::string paths;
  for (const Node& node : nodes) {
    if (!node.path.empty()) paths += (paths.empty() ? "" : "|") + shell_quoted(node.path);
  }
  return fmt::format(R"(# bash completion for collbench: source <(collbench completion bash)
_collbench() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  local path='' word words=''
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{path:+$path }}$word" in
      {}) path="${{path:+$path }}$word" ;;
    esac
  done
  case "$path $previous" in
{}  esac
  if [ -z "$words" ]; then
    case "$path" in
{}    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _collbench collbench
)",
                     paths, value_cases(nodes), commands);
}

std::string zsh_script(const std::vector<Node>& nodes) {
  return "#compdef collbench\n"
         "# zsh completion for collbench: source <(collbench completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(nodes);
}

/// Every word of the command was typed, and none of a command below it.
std::string fish_condition(const Node& node) {
  std::vector<std::string> tests;
  for (const std::string& word : split_at(node.path, ' ')) {
    if (!word.empty()) tests.push_back("__fish_seen_subcommand_from " + word);
  }
  std::string below;
  for (const CLI::App* command : node.commands) {
    if (!command->get_fallthrough()) below += " " + command->get_name();
  }
  if (!below.empty()) tests.push_back("not __fish_seen_subcommand_from" + below);
  return fmt::format("{}", fmt::join(tests, "; and "));
}

std::string fish_script(const std::vector<Node>& nodes) {
  std::string out = "# fish completion for collbench: collbench completion fish | source\n";
  for (const Node& node : nodes) {
    if (node.is_default) continue;
    const std::string when = fish_condition(node);
    for (const CLI::App* command : node.commands) {
      out += fmt::format("complete -c collbench -n '{}' -f -a {} -d {}\n",
                         node.path.empty() ? "__fish_use_subcommand" : when, command->get_name(),
                         shell_quoted(command->get_description()));
    }
    for (const CLI::Option* option : node.options) {
      if (option->get_lnames().empty()) continue;
      const std::string& name = option->get_lnames().front();
      out += fmt::format("complete -c collbench -n '{}' -l {}", when, name);
      for (const std::string& letter : option->get_snames()) out += " -s " + letter;
      if (option->get_expected_max() > 0) out += " -r";
      const auto values = values_of(node, name);
      if (!values.empty()) out += fmt::format(" -a '{}'", fmt::join(values, " "));
      out += " -d " + shell_quoted(option->get_description()) + "\n";
    }
  }
  return out;
}

int print_script(const CLI::App& app, const std::string& shell) {
  require_known("completion", shell, {"bash", "zsh", "fish"}, "shell");
  std::vector<Node> nodes;
  walk(app, "", nodes);
  std::cout << (shell == "fish" ? fish_script(nodes)
                                : (shell == "zsh" ? zsh_script(nodes) : bash_script(nodes)));
  return exit_ok;
}

}  // namespace

void add_completion(CLI::App& app, Action& action) {
  static constexpr OptionRow rows[] = {
      {arguments_group, "SHELL", "", "SHELL", "", "bash, zsh or fish", Presence::required}};
  add_command(app, "completion", "print a completion script for a shell", rows, action,
              [&app](const CLI::App& parsed) {
                return print_script(app, parsed["SHELL"]->as<std::string>());
              });
}

}  // namespace collbench
