#include "cli/command.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/measure/measure_case.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/remote.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/plain_text.h"
#include "core/stop_request.h"
#include "heuristics/synthesis/synthesise.h"
#include "simulator/simulate.h"
#include "transports/world/worker.h"

namespace collbench {
namespace {

/// "--json=" means an empty value; CLI11 would take the next word for it.
void refuse_empty_values(int argc, char** argv) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    const std::string_view word = argv[i];
    require(!word.starts_with("--") || !word.ends_with('='),
            fmt::format("{}: the value is empty", word.substr(0, word.size() - 1)));
  }
}

/// CLI11 takes the next word for the value, whatever it is: "--json -b 1K" would write a file "-b".
void refuse_options_as_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->get_expected_max() != 1) continue;
    for (const std::string& value : option->results()) {
      require(!value.starts_with('-') || app.get_option_no_throw(value) == nullptr,
              fmt::format("{}: '{}' is an option; a value is missing, or begin it with ./ if it is "
                          "a file",
                          option->get_name(), value));
    }
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_options_as_values(*command);
}

int dispatch(CLI::App& app, int argc, char** argv) {
  Action action;
  for (AddCommand* add : {add_run,     add_simulate,  add_sweep,      add_train,    add_select,
                          add_merge,   add_ab,        add_compare,    add_history,  add_report,
                          add_launch,  add_calibrate, add_regret,     add_validate, add_diagnose,
                          add_algos,   add_synth,     add_tune,       add_topo,     add_logs,
                          add_profile, add_doctor,    add_completion, add_help,     add_version}) {
    add(app, action);
  }
  declare_asked_options(app, argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string shown = printable(argv[i]);
    require(shown == argv[i] || std::strchr(argv[i], '\n') != nullptr,
            fmt::format("argument {}, '{}', holds a control character", i, shown));
  }
  refuse_empty_values(argc, argv);
  app.parse(argc, argv);
  refuse_options_as_values(app);
  refuse_leftovers(app);
  return another_rank_does(app) ? exit_ok : action();
}

int fail(int code, const std::string& message, const std::string& hint = "") {
  std::cout.flush();
  // In one piece: other ranks write to the same terminal.
  std::cerr << fmt::format("{}{}\n{}", error_prefix(), printable(message), hint);
  return code;
}

/// CLI11 names the type of what is missing, which options here do not have.
std::string parse_reason(const CLI::ParseError& error) {
  std::string text = error.what();
  const std::size_t at = text.rfind(": 1 required");
  if (at != text.npos && text.ends_with("missing")) text.replace(at, text.npos, ": needs a value");
  return text;
}

/// What was printed reached standard output, or the command has failed.
int printed() {
  std::cout.flush();
  return std::cout ? exit_ok : fail(exit_failed, "could not write to standard output");
}

}  // namespace

int carry_out_command(int argc, char** argv) {
  offer_synthesis(played_time);
  CLI::App app("Measures all-reduce algorithms: which is fastest here, and why.", "collbench");
  try {
    // Workers of a run are this same program; they print nothing and parse nothing of the above.
    if (argc > 1 && std::strcmp(argv[1], "worker") == 0) {
      return worker_main({argv + 2, argv + argc}, carry_out_case);
    }
    const int code = dispatch(app, argc, argv);
    return printed() == exit_ok ? code : exit_failed;
  } catch (const CLI::CallForHelp&) {
    const auto is_letter = [](const char* word) { return std::strcmp(word, "-h") == 0; };
    std::cout << help_text(app, std::any_of(argv + 1, argv + argc, is_letter));
    return printed();
  } catch (const CLI::CallForVersion&) {
    std::cout << version_text() << '\n';
    return printed();
  } catch (const CLI::ParseError& e) {
    return fail(exit_usage, parse_reason(e), usage_hint(app));
  } catch (const Stopped& e) {
    return fail(interrupt_exit_code(), e.what());
  } catch (const InvalidArgument& e) {
    return fail(exit_usage, e.what(), usage_hint(app));
  } catch (const WrongResult& e) {
    return fail(exit_wrong_result, e.what());
  } catch (const FileUnavailable& e) {
    return fail(exit_unavailable, e.what());
  } catch (const Unavailable& e) {
    return fail(exit_unavailable, e.what(), "'collbench doctor' shows what can be used here\n");
  } catch (const std::bad_alloc&) {
    return fail(exit_failed, "out of memory");
  } catch (const std::exception& e) {
    return fail(exit_failed, library_reason(e));
  }
}

}  // namespace collbench
