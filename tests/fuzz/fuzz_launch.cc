// Fuzzes the variables of launchers: any environment is that of one worker among several, that of
// none, or refused with a reason.
#include <map>
#include <sstream>
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "transports/world/launch_sources.h"

FUZZ_TARGET(launch, input) {
  using namespace collbench;
  std::istringstream lines{std::string(input)};
  std::map<std::string, std::string> variables;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) variables[line.substr(0, equals)] = line.substr(equals + 1);
  }
  LaunchFacts facts;
  facts.environment = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  facts.host_name = [&] { return variables["HOSTNAME"]; };
  // A size of a million is allowed, but takes a while to write down.
  if (variables["WORLD_SIZE"].size() > 4) return;
  try {
    const auto worker = launched_worker(facts);
    if (!worker || worker->evaluator) return;
    if (worker->rank < 0 || worker->rank >= worker->ranks || worker->bootstrap.empty())
      std::abort();
    if (!worker->hosts.empty() && std::ssize(worker->hosts) != worker->ranks) std::abort();
  } catch (const InvalidArgument& refusal) {
    if (std::string(refusal.what()).empty()) std::abort();
  }
}
