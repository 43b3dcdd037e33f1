// `collbench version`.
#include <iostream>

#include <fmt/format.h>

#include "bench/records/environment.h"
#include "cli/declare.h"
#include "cli/exit_code.h"

namespace collbench {

std::string version_text() {
  const Environment environment = collect_environment();
  return fmt::format("collbench {} ({}, {}, {})", environment.at("version"),
                     environment.at("git_revision"), environment.at("compiler"),
                     environment.at("build_flags"));
}

void add_version(CLI::App& app, Action& action) {
  add_command(app, "version", "print version, revision and compiler", {}, action, [](auto&) {
    std::cout << version_text() << '\n';
    return exit_ok;
  });
}

}  // namespace collbench
