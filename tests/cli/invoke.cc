#include "tests/cli/invoke.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace collbench {
namespace {

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(std::vector<std::string> command, std::vector<std::string> environment,
                         const std::string& folder, int out, int err) {
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  if (chdir(folder.c_str()) != 0) _exit(126);
  execvpe(command.front().c_str(), pointers(command).data(), pointers(environment).data());
  _exit(127);
}

bool shows_a_row(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#' && !lines.eof()) return true;
  }
  return false;
}

/// Reads both pipes to their ends, sending `signal` to `child` once a row is out.
void drain(int out, int err, pid_t child, int signal, CommandOutcome& outcome) {
  pollfd fds[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
  std::string* texts[2] = {&outcome.out, &outcome.err};
  for (int open_count = 2; open_count > 0;) {
    poll(fds, 2, -1);
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char buffer[4096];
      const ssize_t got = read(fds[i].fd, buffer, sizeof buffer);
      if (got <= 0) {
        close(fds[i].fd);
        fds[i].fd = -1;
        --open_count;
      } else {
        texts[i]->append(buffer, static_cast<std::size_t>(got));
      }
    }
    if (signal != 0 && shows_a_row(outcome.out)) {
      kill(child, signal);
      signal = 0;
    }
  }
}

CommandOutcome run(const RunFolder& folder, const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& variables, int signal) {
  std::vector<std::string> environment = environment_with(variables);
  environment.push_back("HOME=" + folder.path());
  int out[2];
  int err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  const pid_t child = fork();
  if (child == 0) become(command, environment, folder.path(), out[1], err[1]);
  close(out[1]);
  close(err[1]);
  CommandOutcome outcome;
  drain(out[0], err[0], child, signal, outcome);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

}  // namespace

std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (const char* kept : {"PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (std::getenv(kept) != nullptr && !variables.contains(kept))
      environment.push_back(std::string(kept) + "=" + std::getenv(kept));
  }
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

RunFolder::RunFolder() {
  path_ = (std::filesystem::temp_directory_path() / "collbench_cli_XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("mkdtemp " + path_);
}

RunFolder::~RunFolder() { std::filesystem::remove_all(path_); }

void RunFolder::write(const std::string& name, const std::string& text) const {
  const auto file = std::filesystem::path(path_) / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

std::string RunFolder::read(const std::string& name) const {
  std::ifstream file(std::filesystem::path(path_) / name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

CommandOutcome invoke(const RunFolder& folder, const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment, int signal) {
  std::vector<std::string> command = {COLLBENCH_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(folder, command, environment, signal);
}

CommandOutcome invoke_program(const RunFolder& folder, const std::string& program,
                              const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run(folder, command, {}, 0);
}

bool has_grpc() {
  static const bool has = invoke(RunFolder(), {"-A", "ring@grpc", "--dry-run"}).code != 4;
  return has;
}

bool is_missing(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null").c_str()) != 0;
}

}  // namespace collbench
