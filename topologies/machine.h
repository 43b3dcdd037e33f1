// A Machine is a topology with what messages and sums cost on it: one file topologies/*.toml.
//
// Time of one message of m bytes over a route of level l (0 inside a node, 1 between nodes):
//
//   route latency + message_latency(m, l)  and then  wire_factor * m  bytes flow, sharing links
//   max-min fairly and never faster than `message_cap`.
//
// Of the messages that a rank sends in one round, all but one keep it busy for their `message_gap`,
// and all leave after that: none of them is known to be the first. What it receives may take longer
// than what it sends: the rest of that, and reduced bytes / reduction_rate, a rank that has all
// messages of a round adds before its next. A collective adds `per_collective` once. Every engine
// uses these numbers alike.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/data_type.h"
#include "core/units.h"
#include "topologies/gpus.h"
#include "topologies/topology.h"

namespace collbench {

/// Latency that a message adds to that of its links, from `from_bytes` on. Ascending.
struct LatencyStep {
  Bytes from_bytes;
  Seconds latency;
};

/// One way of sending, as NCCL's LL, LL128 and Simple. Vectors have an entry per link level; a
/// level beyond the end takes the last.
struct Protocol {
  std::string name;
  double wire_factor = 1;                // bytes on the wire per byte of payload, at least 1
  std::vector<Seconds> message_latency;  // adds to that of the links
  std::vector<Bandwidth> message_cap;    // of one message; 0 or empty: none
  std::string source;
  std::vector<Seconds> message_gap{};  // from one message of a rank to its next; empty: none
};

/// Switches that add: the vector goes up once and comes down once, as NVLS and SHARP do.
struct InNetwork {
  std::string name;   // "nvls", "sharp"
  Seconds latency;    // of one collective
  Bandwidth rate;     // bytes of the vector per second and rank, where max_ranks add
  int max_ranks = 0;  // of one domain; 0: no limit
  std::string source;

  /// Where `ranks` of the domain add. NVLS has the same bus bandwidth for any number of them: the
  /// share of the vector that is a rank's own does not count.
  Bandwidth rate_of(int ranks) const;
  /// Whether its switches can, an average as a sum; those with another name can all.
  bool adds(TypedOp what) const;
  /// Whether they are those of one node, as NVLink's are, whatever joins the nodes.
  bool is_inside_node() const;
};
/// What NVLink's switches add: sums of all types but bytes, the least and the largest of integers
/// and of 16-bit floating point.
bool nvls_adds(TypedOp what);
/// What InfiniBand's do: all but products.
bool sharp_adds(TypedOp what);

struct Costs {
  std::vector<LatencyStep> message_latency;  // empty: none beyond the links
  double wire_factor = 1;
  Bandwidth message_cap{0};     // 0: none
  Bandwidth reduction_rate{0};  // bytes reduced per second by one rank; 0: free
  Seconds per_collective{0};
  std::vector<Protocol> protocols;      // empty: one way of sending
  std::optional<InNetwork> in_network;  // empty: switches only forward
  std::optional<Gpus> gpus{};           // empty: none, or nothing is said of them
  std::vector<Seconds> message_gap{};   // by level, as that of a Protocol, which adds
};

/// A cost that is one number: its key in a machine file and in `topo show`, and its member. What is
/// not given costs nothing.
struct CostKey {
  const char* name;
  std::variant<double Costs::*, Bandwidth Costs::*, Seconds Costs::*> member;
};
inline constexpr std::array<CostKey, 4> cost_keys{{{"wire_factor", &Costs::wire_factor},
                                                   {"message_cap", &Costs::message_cap},
                                                   {"reduction_rate", &Costs::reduction_rate},
                                                   {"per_collective", &Costs::per_collective}}};

/// Those that are given, as machine files call them: "message_latency", "protocol ll".
std::vector<std::string> names_of_costs(const Costs& costs);

/// What differs between otherwise equal runs, reproducible from the seed.
struct Disturbance {
  Seconds jitter{0};  // every rank starts late by an exponential time with this mean
  std::uint64_t seed = 1;
  std::vector<std::pair<int, Seconds>> stragglers;  // these ranks start later by so much
};

struct Machine {
  Topology topology;
  Costs costs;
  std::string summary;
  std::string source;
};

/// What one message costs, resolved from Costs and, where there is a ladder, one Protocol of it.
struct MessageCost {
  Seconds latency{0};  // beyond that of the links
  double wire_factor = 1;
  double cap = 0;  // bytes on the wire per second; 0: none
};
/// `protocol` may be null. `bytes` is the payload; an inflated message keeps to the cap on the
/// wire.
MessageCost message_cost(const Costs& costs, const Protocol* protocol, double bytes, int level);

/// Whether messages of a rank wait for each other. `protocol` may be null.
bool has_message_gaps(const Costs& costs, const Protocol* protocol);

/// The messages that one rank sends, or receives, in one round (of a track, which plays in thread
/// blocks of its own).
class MessageGaps {
 public:
  static constexpr std::size_t levels = 4;  // levels beyond count as the last

  void add(int level) { ++messages_[std::min(static_cast<std::size_t>(level), levels - 1)]; }
  /// The sum of their gaps but for the largest, which no other message waits for. Depends on the
  /// messages and not on their order, to the last bit: ranks that do alike things stay alike.
  Seconds beyond_one(const Costs& costs, const Protocol* protocol) const;

 private:
  std::array<int, levels> messages_{};
};

/// Start of each rank, all at least 0.
std::vector<Seconds> start_times(const Disturbance& disturbance, int ranks);

/// Which host each rank sits on: "row-major" (rank = host), "snake" (consecutive ranks are
/// neighbours on the grid), "rail" (consecutive ranks are the same device of consecutive nodes), or
/// a list "3,1,0,2" of as many distinct hosts as ranks. Throws InvalidArgument for another name,
/// more ranks than hosts, or an order that the layout does not have.
std::vector<Host> place(const std::string& order, int ranks, const Topology& topology);

}  // namespace collbench
