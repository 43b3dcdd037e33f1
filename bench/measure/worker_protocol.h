// What a team and its worker processes tell each other: JSON objects, one per line.
//
// hello (worker), welcome (team), then command and outcome for every case, until the team closes
// the connection.
#pragma once

#include <string>

#include "bench/measure/worker_case.h"

namespace collbench {

/// The first word of a worker: who it is, and the secret that proves it.
struct Hello {
  Rank rank = 0;
  int process = 0;
  std::string token;
};

/// What a worker must know for its whole life.
struct Welcome {
  int ranks = 1;
  std::string backend;
  std::string control;  // path of the control block's memory
};

struct Command {
  Case which;
  Sampling sampling;
  std::string arena;  // path of this case's shared memory; empty if it needs none
};

// to_line gives one line without its end; the readers throw InvalidArgument for other text.
std::string to_line(const Hello& hello);
std::string to_line(const Welcome& welcome);
std::string to_line(const Command& command);
std::string to_line(const CaseOutcome& outcome);
Hello read_hello(const std::string& line);
Welcome read_welcome(const std::string& line);
Command read_command(const std::string& line);
CaseOutcome read_outcome(const std::string& line);

}  // namespace collbench
