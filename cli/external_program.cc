#include "cli/external_program.h"

#include <array>
#include <cstdio>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <sys/wait.h>

#include "core/error.h"

namespace collbench {

std::string run_external(const ExternalProgram& program, const std::string& input) {
  const std::string name = program.command.substr(0, program.command.find(' '));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  if (!file || std::fwrite(input.data(), 1, input.size(), file.get()) != input.size() ||
      std::fflush(file.get()) != 0) {
    throw Error(fmt::format("cannot write the input of {} to a temporary file", name));
  }
  std::cout.flush();
  std::FILE* output = popen(fmt::format("command -v {} >/dev/null || exit 127; exec {} </dev/fd/{}",
                                        name, program.command, fileno(file.get()))
                                .c_str(),
                            "r");
  if (output == nullptr) throw Error("could not start a shell for " + name);
  std::string text;
  std::array<char, 65'536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), output)) {
    text.append(buffer.data(), got);
  }
  const int status = pclose(output);
  const int exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (exit_code == 127) {
    throw Unavailable(fmt::format("{} is not installed (Debian: {}); {}", name, program.package,
                                  program.without));
  }
  if (exit_code != 0) throw Error(fmt::format("{} failed, with exit code {}", name, exit_code));
  return text;
}

std::string svg_of(const std::string& dot) {
  return run_external({"dot -Tsvg", "graphviz", "--dot FILE writes what it would read"}, dot);
}

}  // namespace collbench
