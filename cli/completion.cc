// `collbench completion SHELL`: a script made by walking the tree of commands and options.
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/reports/formats.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/settings.h"
#include "core/suggest.h"
#include "transports/world/launch.h"

namespace collbench {
namespace {

/// One command for the script: the words that reach it, and what may follow them.
struct Node {
  std::string path;  // "" for the root, "algos show"
  std::vector<const CLI::App*> commands;
  std::vector<const CLI::Option*> options;
};

void walk(const CLI::App& app, const std::string& path, std::vector<Node>& nodes) {
  const auto commands =
      app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
  nodes.push_back({path, commands, app.get_options()});
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

/// The words an option of a command takes, where they are known; the path of the root is empty.
std::vector<std::string> values_of(const std::string& path, const std::string& option) {
  return option == "format" && path.empty() ? record_format_names() : option_words(option);
}

/// The root's options with values, as shell cases: "--algo|-A) words='...' ;;".
std::string value_cases(const Node& root) {
  std::string out;
  for (const CLI::Option* option : root.options) {
    if (option->get_lnames().empty()) continue;
    const auto values = values_of(root.path, option->get_lnames().front());
    if (values.empty()) continue;
    std::string names = "--" + option->get_lnames().front();
    for (const std::string& letter : option->get_snames()) names += "|-" + letter;
    out += fmt::format("    {}) words='{}' ;;\n", names, fmt::join(values, " "));
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
  case "$previous" in
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
                     paths, value_cases(nodes.front()), commands);
}

std::string zsh_script(const std::vector<Node>& nodes) {
  return "#compdef collbench\n"
         "# zsh completion for collbench: source <(collbench completion zsh)\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(nodes);
}

std::string fish_script(const std::vector<Node>& nodes) {
  std::string out = "# fish completion for collbench: collbench completion fish | source\n";
  for (const Node& node : nodes) {
    std::string when = "__fish_use_subcommand";
    if (!node.path.empty()) {
      const std::string last = node.path.substr(node.path.rfind(' ') + 1);
      when = "__fish_seen_subcommand_from " + last;
    }
    for (const CLI::App* command : node.commands) {
      out += fmt::format("complete -c collbench -n '{}' -f -a {} -d {}\n", when,
                         command->get_name(), shell_quoted(command->get_description()));
    }
    for (const CLI::Option* option : node.options) {
      if (option->get_lnames().empty()) continue;
      const std::string& name = option->get_lnames().front();
      out += fmt::format("complete -c collbench {}-l {}",
                         node.path.empty() ? "" : "-n '" + when + "' ", name);
      for (const std::string& letter : option->get_snames()) out += " -s " + letter;
      if (option->get_expected_max() > 0) out += " -r";
      const auto values = values_of(node.path, name);
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
