// The arms of `collbench ab --read FORMAT`: two commands of a shell, whose output is read.
//
// A command prints its table, or writes it to the file that its variable AB_OUT names. Of a case
// its name is all that is known: it stands as algorithm of a Case without back end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/foreign/named_times.h"
#include "bench/verdicts/ab_process.h"

namespace collbench {

struct AbCommands {
  std::string base;  // as /bin/sh runs them
  std::string head;
  TimesRequest read;
  Seconds timeout{600};    // of one process
  std::uint64_t seed = 1;  // of the moves of the stack
};

/// Thread safety: belongs to one thread.
class AbCommandRunner {
 public:
  AbCommandRunner(AbCommands commands, std::function<std::string()> stop_requested);

  /// A record for each case of one process; nothing if a stop was requested. Throws Unavailable if
  /// there is no such program, TransportError, with how it ended and its last words, if it failed
  /// or hung, and InvalidArgument for output that is not of the format or shares no case with what
  /// came before.
  std::optional<RecordFile> measure(const AbTask& task);

 private:
  RecordFile records_of(const std::vector<NamedTimes>& cases, const std::string& command);

  AbCommands commands_;
  AbProcess process_;
  Environment environment_;
  std::map<std::string, int> calls_;  // of a sample, by case
  int processes_ = 0;
};

}  // namespace collbench
