// Max-min fair rates of the flows that are on the links now, kept up to date as flows come and go.
//
// A link is tight if its flows, each at its own limit, would ask for more than it has. Only tight
// links bind flows together. A change is followed from the links it touched through tight ones, and
// the flows reached are filled anew (progressive filling); all others keep their rates.
//
// Flows over the same links with the same limit have one rate and are filled as one bundle: tracks
// send hundreds of messages along each way. What a bundle has moved for each of its flows since it
// began says when they end, as in the virtual time of fair queueing, so that another rate costs the
// same for one flow and for hundreds, and only the first to end waits in the queue.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "simulator/event_queue.h"
#include "simulator/pair_table.h"
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
  struct Route {  // of paths: uses_[first .. first + length)
    std::int32_t first;
    std::int32_t length;
    double limit;
    std::int32_t bundles = -1;  // the first that flows along it
  };
  struct Active {             // a flow
    double target = 0;        // what its bundle has moved when it has
    std::uint64_t order = 0;  // of flows that end together: by start
    std::int32_t bundle = -1;
    std::int32_t later = -1;    // the first of those that it comes before
    std::int32_t sibling = -1;  // the next that comes after the same flow
  };
  struct Bundle {
    double moved = 0;    // bytes of each flow, at `updated`; from less than 0 on
    double rate = 0;     // of each flow; 0: not yet known
    double updated = 0;  // time
    double end = 0;      // of the first flow, at this rate
    double event = 0;    // that is queued: at the end or before it
    double limit = 0;    // of each flow
    double filled = 0;   // rate while filling; 0: still rising
    double flows = 0;
    double counted = 0;        // of them, on its links
    std::int32_t first = -1;   // to end: the root of a pairing heap
    std::int32_t queued = -1;  // the flow whose event is queued
    std::int32_t route = 0;
    std::int32_t hop = -1;   // first of its hops, as many as its route has links
    std::int32_t next = -1;  // along the same route, or free
    std::uint32_t seen = 0;
    bool fresh = false;  // among fresh_
    bool grown = false;  // since the last settle()
  };
  struct Crossing {  // of a bundle and a link
    double uses;     // of each flow
    std::int32_t bundle;
    std::int32_t hop;  // of the bundle: index into places_
  };
  struct Channel {
    double capacity = 0;
    double demand = 0;  // of all flows on it, each at its limit
    double uses = 0;    // of all flows on it
    std::vector<Crossing> bundles;
    std::uint32_t seen = 0;
    bool touched = false;
    // While filling:
    std::int32_t rising = 0;  // bundles whose rate is not known yet
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
  std::span<const Use> uses(const Bundle& bundle) const {
    const Route& route = routes_[static_cast<std::size_t>(bundle.route)];
    return {uses_.data() + route.first, static_cast<std::size_t>(route.length)};
  }
  Channel& channel(LinkId link) { return links_[static_cast<std::size_t>(link)]; }
  Active& active(std::int32_t flow) { return flows_[static_cast<std::size_t>(flow)]; }
  Bundle& bundle(std::int32_t number) { return bundles_[static_cast<std::size_t>(number)]; }
  std::int32_t route_of(const LinkPath& path);
  void touch(LinkId link);
  std::int32_t take_hops(std::int32_t length);
  void erase(LinkId link, std::int32_t hop, double now);
  std::int32_t bundle_along(std::int32_t route, double limit, double now);
  void release(std::int32_t number, double now);
  std::int32_t joined(std::int32_t a, std::int32_t b);
  std::int32_t without_first(std::int32_t first);
  void refresh(std::int32_t number);
  void count(Bundle& changed);
  double start_level(const Bundle& begun);
  void collect();
  bool bind(LinkId link);
  void visit(LinkId link, double slow);
  void weigh();
  void put_first(Bound bound);
  void fill();
  void freeze(Bundle& member, double rate);
  void apply(std::int32_t number, double rate, double now);
  double end_of_first(const Bundle& of, double now) const;
  void queue_first(Bundle& of, double end);

  EventQueue& queue_;
  std::int32_t first_id_;
  bool link_use_;
  std::vector<Route> routes_;
  std::vector<std::int32_t> route_of_path_;
  PairTable<std::int32_t> known_routes_;  // by hash
  std::vector<Use> uses_;
  std::vector<Active> flows_;
  std::vector<Bundle> bundles_;
  std::int32_t free_bundle_ = -1;
  std::uint64_t order_ = 0;
  std::vector<Channel> links_;
  std::vector<std::int32_t> places_;     // of each hop: its place in Channel::bundles
  std::vector<std::int32_t> free_hops_;  // by length: first of a list through places_
  std::vector<LinkUse> used_;
  std::vector<double> busy_since_;
  std::vector<std::int32_t> fresh_;    // bundles of the starts and ends since settle()
  std::vector<LinkId> touched_;        // since the last settle()
  double level_ = infinity;            // of the slowest flow that changed anything since then
  std::vector<LinkId> bounds_;         // tight links that a solve looks at
  std::vector<std::int32_t> members_;  // bundles that a solve looks at
  std::vector<std::int32_t> by_limit_;
  std::vector<Bound> heap_;
  std::uint32_t epoch_ = 0;
};

}  // namespace collbench
