// One simulated all-reduce: what to play on which machine, by which engine, and what came out.
//
// All engines give the same times (docs/simulator.md says what each needs): `model` predicts from
// link loads and is exact without contention; `quotient` plays one rank of every class of ranks
// that behave alike; `fluid` plays every rank; `simgrid` plays execute() itself on SimGrid actors.
// The model looks at a sample of the sends only: it also prices a schedule whose sends and receives
// do not match, which the other three refuse.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/schedule.h"
#include "core/data_type.h"
#include "core/units.h"
#include "topologies/machine.h"

namespace collbench {

enum class Engine : std::uint8_t { automatic, model, quotient, fluid, simgrid };
std::string_view to_string(Engine engine);
Engine parse_engine(std::string_view name);  // throws InvalidArgument with a suggestion

/// When the bytes of a message may start: once its sender is there, or once both sides are.
enum class Posting : std::uint8_t { eager, rendezvous };
std::string_view to_string(Posting posting);
Posting parse_posting(std::string_view name);  // throws InvalidArgument

/// What to simulate. Requires as many placed ranks as the schedule has.
struct Scenario {
  Schedule schedule;
  Machine machine;
  std::vector<Host> placement = {};  // host of each rank
  std::int64_t count = 0;            // elements of the vector of one rank
  DataType type = DataType::f32;
  ReduceOp op = ReduceOp::sum;
  Posting posting = Posting::eager;
  std::string protocol = {};  // of the machine's ladder; empty: none
  bool equal_chunks = false;  // sizes are real numbers: every chunk is 1/chunks of the vector
  Disturbance disturbance = {};
  bool real_data = false;        // simgrid: move and check real values
  std::int64_t trace_limit = 0;  // transfers to keep for a trace, the first to arrive; 0: none
  bool link_use = true;          // fill Outcome::links
};

/// One message, when it became ready, when its bytes began to flow and when it arrived.
struct Transfer {
  Rank from = 0;
  Rank to = 0;
  int round = 0;
  double bytes = 0;
  Seconds ready{0};
  Seconds start{0};
  Seconds arrival{0};
};

/// What a link carried.
struct LinkUse {
  double bytes = 0;  // on the wire
  Seconds busy{0};   // time with at least one flow
};

struct Outcome {
  Engine engine = Engine::fluid;
  std::string why;  // this engine if it was picked, and what its user should know; may be empty
  Seconds time{0};  // of the last rank, from the first start; per-collective cost included
  std::vector<Seconds> rank_end;   // by rank
  std::vector<Seconds> round_end;  // by round, of the last rank; empty for engines without rounds
  std::vector<LinkUse> links;      // by LinkId; empty for engines that do not know
  std::vector<Transfer> transfers;
  std::int64_t messages = 0;         // of all ranks
  std::int64_t messages_played = 0;  // that the engine really handled
  int rank_classes = 0;              // quotient: classes of ranks
  std::int64_t wrong = -1;           // simgrid with real data: elements unlike the exact sum
};

/// Runs `engine`; `automatic` picks the cheapest exact one and says which and why: fluid, which
/// plays each message, up to about `few_messages` of them, 2 million taking less than a second.
/// The model it picks where no exact one ends: of hundreds of millions in rounds that all differ.
/// Throws InvalidArgument if the scenario does not fit the engine or memory, Unavailable if this
/// build does not have the engine, and Stopped once a watched signal came (core/stop_request.h).
Outcome simulate(const Scenario& scenario, Engine engine = Engine::automatic,
                 double few_messages = 2e6);

/// Time of the engine `fluid` for a vector of `bytes` of floats, with rank i on host i; the ranks
/// of `stragglers` begin later; with the protocol of the machine that suits, if it has any. Throws
/// as simulate() does.
Seconds played_time(const Schedule& schedule, const Machine& machine,
                    const std::vector<std::pair<int, Seconds>>& stragglers, Bytes bytes);

/// The bottleneck in words: the busiest link, its utilisation, and what bounds the time.
std::string explain_bottleneck(const Scenario& scenario, const Outcome& outcome);

}  // namespace collbench
