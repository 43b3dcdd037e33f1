// Runs the `collbench` binary as a user would, in an empty folder with an environment of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace collbench {

struct CommandOutcome {
  int code = 0;  // exit code; 128 + signal if it was killed
  std::string out;
  std::string err;
};

/// A folder that is removed with its content.
class RunFolder {
 public:
  RunFolder();
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;
  const std::string& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const;
  std::string read(const std::string& name) const;

 private:
  std::string path_;
};

/// `variables` as NAME=VALUE, and what programs under test inherit: PATH, where libraries are, and
/// how sanitizers behave.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& variables);

/// Runs collbench with `arguments` in `folder`; HOME is the folder too, and nothing else is
/// inherited but what environment_with() says. With `signal`, sends it once standard output has
/// shown a row (a line not led by '#').
CommandOutcome invoke(const RunFolder& folder, const std::vector<std::string>& arguments,
                      const std::map<std::string, std::string>& environment = {}, int signal = 0);

/// Runs another program, found in PATH, in the same way.
CommandOutcome invoke_program(const RunFolder& folder, const std::string& program,
                              const std::vector<std::string>& arguments);

/// Whether this build has the back end grpc; asked once.
bool has_grpc();

/// Whether no program of this name is found in PATH.
bool is_missing(const std::string& program);

}  // namespace collbench
