// Processes of a run that are started and killed one by one, as in several terminals.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/free_ports.h"
#include "tests/cli/invoke.h"

namespace collbench {

using Arguments = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// collbench in the background, which can be killed; its output goes to the file `log`.
class BackgroundProcess {
 public:
  BackgroundProcess(const RunFolder& folder, const Arguments& arguments, const Variables& variables,
                    const std::string& log) {
    Arguments words = {COLLBENCH_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Arguments environment = environment_with(variables);
    child_ = fork();
    if (child_ != 0) return;
    const int out = open((folder.path() + "/" + log).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    if (chdir(folder.path().c_str()) != 0) _exit(126);
    const auto pointers = [](Arguments& texts) {
      std::vector<char*> all;
      for (std::string& text : texts) all.push_back(text.data());
      all.push_back(nullptr);
      return all;
    };
    execve(words[0].c_str(), pointers(words).data(), pointers(environment).data());
    _exit(127);
  }
  pid_t pid() const { return child_; }
  void signal(int number) const { kill(child_, number); }
  /// Its exit code; one that goes on longer than a test may is killed, so that the test fails by
  /// what it expects.
  int wait() const {
    int status = 0;
    for (int i = 0; waitpid(child_, &status, WNOHANG) == 0; ++i) {
      if (i == 12000) signal(SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t child_ = -1;
};

/// The step of the latest checkpoint; 0 if there is none.
inline std::int64_t latest_step(const RunFolder& folder) {
  std::int64_t latest = 0;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(folder.path() + "/ck", none)) {
    const std::string name = file.path().filename().string();
    if (!name.starts_with("step-")) continue;
    latest = std::max<std::int64_t>(latest, std::stoll(name.substr(5, 9)));
  }
  return latest;
}

inline void wait_for_step(const RunFolder& folder, std::int64_t step) {
  for (int i = 0; i < 600; ++i, std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    if (latest_step(folder) >= step) return;
  }
  FAIL() << "no checkpoint of step " << step;
}

}  // namespace collbench
