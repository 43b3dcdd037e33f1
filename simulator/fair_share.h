// Max-min fair rates of the flows that are on the links now, kept up to date as flows come and go.
//
// A link is tight if its flows, each at its own limit, would ask for more than it has. Only tight
// links bind flows together. A change is followed from the links it touched through tight ones, and
// the flows reached are filled anew (progressive filling); all others keep their rates.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulator/event_queue.h"
#include "simulator/program.h"
#include "simulator/simulate.h"

namespace collbench {

/// Flows are known by small numbers that the caller gives. Thread safety: belongs to one thread.
class FairShare {
 public:
  /// Flow f waits for its end in `queue` as id first_id + f. Both referred to must live on.
  FairShare(const std::vector<double>& capacities, EventQueue& queue, std::int32_t first_id,
            bool link_use);

  /// Makes room for flows 0 .. flows-1.
  void resize(std::size_t flows) { flows_.resize(flows); }
  /// Takes over paths that were added since the last call.
  void learn(const std::vector<LinkPath>& paths);

  /// `flow` begins now to move `bytes` along `path`, no faster than `cap` (0: none).
  void start(std::int32_t flow, std::int32_t path, double bytes, double cap, double now);
  /// An event of `flow` has come: whether it has moved all its bytes by now. If not, it waits for
  /// its end again.
  bool is_over(std::int32_t flow);
  /// `flow` has moved all its bytes.
  void end(std::int32_t flow, double now);
  /// Gives all flows their rates from `now` on and queues the ends of those that changed.
  /// To be called after the starts and ends of each moment.
  void settle(double now);

  /// What links carried until `now`; their bytes count when a flow starts.
  std::vector<LinkUse> link_use(double now) const;

 private:
  struct Use {
    LinkId link;
    double uses;
  };
  struct Route {  // of a path: uses_[first .. first + length)
    std::int32_t first;
    std::int32_t length;
    double limit;
  };
  struct Active {
    double left = 0;     // bytes to move, at `updated`
    double rate = 0;     // 0: not yet known
    double updated = 0;  // time
    double end = 0;      // at this rate
    double event = 0;    // that is queued: at the end or before it
    double limit = 0;
    double filled = 0;  // rate while filling; 0: still rising
    std::int32_t path = 0;
    std::int32_t hop = -1;  // first of its hops, as many as its path has links
    std::uint32_t seen = 0;
  };
  struct Crossing {  // of a flow and a link
    double uses;
    std::int32_t flow;
    std::int32_t hop;  // of the flow: index into places_
  };
  struct Channel {
    double capacity = 0;
    double demand = 0;  // of all flows on it, each at its limit
    double uses = 0;    // of all flows on it
    std::vector<Crossing> flows;
    std::uint32_t seen = 0;
    bool touched = false;
    // While filling:
    std::int32_t rising = 0;  // flows whose rate is not known yet
    double weight = 0;        // their uses
    double rest = 0;          // capacity that the others leave
  };
  struct Bound {  // a link and the share at which it is full
    double share;
    LinkId link;
  };

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  // Rounding must not make links tight that are exactly full.
  static bool tight(const Channel& link) { return link.demand > link.capacity * (1 + 1e-12); }
  std::span<const Use> uses(const Active& flow) const {
    const Route& route = routes_[static_cast<std::size_t>(flow.path)];
    return {uses_.data() + route.first, static_cast<std::size_t>(route.length)};
  }
  Channel& channel(LinkId link) { return links_[static_cast<std::size_t>(link)]; }
  Active& active(std::int32_t flow) { return flows_[static_cast<std::size_t>(flow)]; }
  void touch(LinkId link);
  std::int32_t take_hops(std::int32_t length);
  void erase(LinkId link, std::int32_t hop, double now);
  double start_level(const Active& flow);
  void collect();
  bool bind(LinkId link);
  void visit(LinkId link, double slow);
  void weigh();
  void fill();
  void freeze(Active& flow, double rate);
  void apply(std::int32_t flow, double rate, double now);

  EventQueue& queue_;
  std::int32_t first_id_;
  bool link_use_;
  std::vector<Route> routes_;
  std::vector<Use> uses_;
  std::vector<Active> flows_;
  std::vector<Channel> links_;
  std::vector<std::int32_t> places_;     // of each hop: its place in Channel::flows
  std::vector<std::int32_t> free_hops_;  // by length: first of a list through places_
  std::vector<LinkUse> used_;
  std::vector<double> busy_since_;
  std::vector<std::int32_t> started_;  // since the last settle()
  std::vector<LinkId> touched_;        // since the last settle()
  double level_ = infinity;            // of the slowest flow that changed anything since then
  std::vector<LinkId> bounds_;         // tight links that a solve looks at
  std::vector<std::int32_t> members_;  // flows that a solve looks at
  std::vector<std::int32_t> by_limit_;
  std::vector<Bound> heap_;
  std::uint32_t epoch_ = 0;
};

}  // namespace collbench
