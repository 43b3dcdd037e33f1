// What a world and its worker processes send each other: JSON objects, one per line.
//
// hello (worker), welcome (world), then an order and its outcome for every piece of work, until the
// world closes the connection.
#pragma once

#include <string>
#include <variant>

#include "transports/world/shared_rendezvous.h"
#include "transports/world/world_spec.h"

namespace collbench {

/// The first line of a worker: its rank, and the secret that proves that it may have it.
struct Hello {
  Rank rank = 0;
  int process = 0;
  std::string token;
};

/// What holds for a worker's whole life.
struct Welcome {
  int ranks = 1;
  std::string backend;
  std::string control;  // path of the control block's memory
};

/// One piece of work.
struct WorkOrder {
  WorldSpec spec;  // without `schedules`, which cannot be sent
  Seconds timeout{60};
  std::string text;   // for the OrderHandler
  std::string arena;  // path of the memory that the ranks share meanwhile; empty: none
};

/// The handler's answer, or why there is none.
using OrderOutcome = std::variant<std::string, Fault>;

// to_line gives one line without its end; the readers throw InvalidArgument for other text.
std::string to_line(const Hello& hello);
std::string to_line(const Welcome& welcome);
std::string to_line(const WorkOrder& order);
std::string to_line(const OrderOutcome& outcome);
Hello read_hello(const std::string& line);
Welcome read_welcome(const std::string& line);
WorkOrder read_order(const std::string& line);
OrderOutcome read_outcome(const std::string& line);

}  // namespace collbench
