#include "simulator/fair_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collbench {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Shares that differ by rounding only are one level, so that flows of equal fate end together.
// A share is what is left of a capacity after thousands of subtractions.
bool same_level(double share, double level) { return share <= level * (1 + 1e-12); }

}  // namespace

FairShare::FairShare(const std::vector<double>& capacities, EventQueue& queue,
                     std::int32_t first_id, bool link_use)
    : queue_(queue), first_id_(first_id), link_use_(link_use), links_(capacities.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l) links_[l].capacity = capacities[l];
  if (link_use_) {
    used_.resize(links_.size());
    busy_since_.resize(links_.size());
  }
}

void FairShare::learn(const std::vector<LinkPath>& paths) {
  for (std::size_t p = routes_.size(); p < paths.size(); ++p) {
    Route route{static_cast<std::int32_t>(uses_.size()),
                static_cast<std::int32_t>(paths[p].links.size()),
                std::numeric_limits<double>::infinity()};
    for (const auto& [link, count] : paths[p].links) {
      uses_.push_back({link, count});
      route.limit = std::min(route.limit, channel(link).capacity / count);
    }
    routes_.push_back(route);
  }
}

void FairShare::touch(LinkId link) {
  if (channel(link).touched) return;
  channel(link).touched = true;
  touched_.push_back(link);
}

// A flow's hops are consecutive entries of places_. Freed ones are kept in a list per length,
// linked through their first entry, so that starting a flow does not allocate.
std::int32_t FairShare::take_hops(std::int32_t length) {
  const auto kind = static_cast<std::size_t>(length);
  if (kind >= free_hops_.size()) free_hops_.resize(kind + 1, -1);
  const std::int32_t first = free_hops_[kind];
  if (first < 0) {
    const auto fresh = static_cast<std::int32_t>(places_.size());
    places_.resize(places_.size() + kind);
    return fresh;
  }
  free_hops_[kind] = places_[static_cast<std::size_t>(first)];
  return first;
}

void FairShare::erase(LinkId link, std::int32_t hop, double now) {
  Channel& on = channel(link);
  const std::int32_t place = places_[static_cast<std::size_t>(hop)];
  const Crossing last = on.flows.back();
  on.flows[static_cast<std::size_t>(place)] = last;
  places_[static_cast<std::size_t>(last.hop)] = place;
  on.flows.pop_back();
  if (!on.flows.empty()) return;
  on.demand = on.uses = 0;  // what rounding left
  if (link_use_) {
    const auto l = static_cast<std::size_t>(link);
    used_[l].busy += Seconds{now - busy_since_[l]};
  }
}

std::vector<LinkUse> FairShare::link_use(double now) const {
  std::vector<LinkUse> used = used_;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!links_[l].flows.empty()) used[l].busy += Seconds{now - busy_since_[l]};
  }
  return used;
}

void FairShare::start(std::int32_t flow, std::int32_t path, double bytes, double cap, double now) {
  Active& begun = active(flow);
  const Route& route = routes_[static_cast<std::size_t>(path)];
  begun.left = bytes;
  begun.rate = 0;
  begun.updated = now;
  begun.limit = cap > 0 ? std::min(cap, route.limit) : route.limit;
  begun.path = path;
  begun.seen = 0;
  begun.hop = route.length > 0 ? take_hops(route.length) : -1;
  std::int32_t hop = begun.hop;
  for (const Use& use : uses(begun)) {
    Channel& link = channel(use.link);
    if (link_use_ && link.flows.empty()) busy_since_[static_cast<std::size_t>(use.link)] = now;
    places_[static_cast<std::size_t>(hop)] = static_cast<std::int32_t>(link.flows.size());
    link.flows.push_back({use.uses, flow, hop++});
    link.demand += use.uses * begun.limit;
    link.uses += use.uses;
    if (tight(link)) touch(use.link);
    if (link_use_) used_[static_cast<std::size_t>(use.link)].bytes += use.uses * bytes;
  }
  started_.push_back(flow);
}

void FairShare::end(std::int32_t flow, double now) {
  const Active& ended = active(flow);
  std::int32_t hop = ended.hop;
  for (const Use& use : uses(ended)) {
    Channel& link = channel(use.link);
    if (tight(link)) {
      touch(use.link);
      level_ = std::min(level_, ended.rate);
    }
    link.demand -= use.uses * ended.limit;
    link.uses -= use.uses;
    erase(use.link, hop++, now);
  }
  if (ended.hop < 0) return;
  std::int32_t& free =
      free_hops_[static_cast<std::size_t>(routes_[static_cast<std::size_t>(ended.path)].length)];
  places_[static_cast<std::size_t>(ended.hop)] = free;
  free = ended.hop;
}

// Only flows that the starts and ends of this moment can affect are solved again. Flows on links
// that are not tight run at their own limits and need no solving.
void FairShare::settle(double now) {
  if (!touched_.empty()) {
    for (const std::int32_t flow : started_) level_ = std::min(level_, start_level(active(flow)));
    collect();
    weigh();
    fill();
    for (const std::int32_t flow : members_) apply(flow, active(flow).filled, now);
    for (const LinkId link : touched_) channel(link).touched = false;
    touched_.clear();
    level_ = infinity;
  }
  for (const std::int32_t flow : started_) {
    if (active(flow).rate == 0) apply(flow, active(flow).limit, now);
  }
  started_.clear();
}

// A lower bound of the rate of a flow that has just started: max-min fairness gives it at least an
// equal share of its most crowded link.
double FairShare::start_level(const Active& flow) {
  double level = flow.limit;
  for (const Use& use : uses(flow)) {
    level = std::min(level, channel(use.link).capacity / channel(use.link).uses);
  }
  return level;
}

// Finds the flows that the touched links can have changed, and the tight links that bind them.
// Progressive filling gives rates in ascending order, and a change at level_ has no effect on flows
// that were full below it. So the search stops at slower flows, which keep their rates.
void FairShare::collect() {
  ++epoch_;
  members_.clear();
  bounds_.clear();
  const double slow = level_ * (1 - 1e-9);
  for (const LinkId link : touched_) {
    if (!bind(link)) visit(link, slow);
  }
  for (std::size_t i = 0; i < bounds_.size(); ++i) visit(bounds_[i], slow);
}

// Whether the link is among those to look at; its counts then begin.
bool FairShare::bind(LinkId link) {
  Channel& bound = channel(link);
  if (bound.seen == epoch_) return true;
  if (!tight(bound)) return false;
  bound.seen = epoch_;
  bound.rising = 0;
  bound.weight = 0;
  bound.rest = bound.capacity;
  bound.demand = 0;  // anew, without what rounding added up
  bounds_.push_back(link);
  return true;
}

// Makes the flows of a link members, except those slower than the change: these keep their rates,
// which are subtracted from the capacity of the link.
void FairShare::visit(LinkId link, double slow) {
  Channel& on = channel(link);
  const bool bound = on.seen == epoch_;
  for (const Crossing& here : on.flows) {
    Active& flow = active(here.flow);
    if (flow.seen == epoch_) continue;
    if (flow.rate > 0 && flow.rate < slow) {
      if (!bound) continue;
      on.rest -= here.uses * flow.rate;
      on.demand += here.uses * flow.limit;
      continue;
    }
    flow.seen = epoch_;
    members_.push_back(here.flow);
    for (const Use& use : uses(flow)) bind(use.link);
  }
}

void FairShare::weigh() {
  for (const std::int32_t flow : members_) {
    Active& member = active(flow);
    member.filled = 0;
    for (const Use& use : uses(member)) {
      Channel& link = channel(use.link);
      if (link.seen != epoch_) continue;
      ++link.rising;
      link.weight += use.uses;
      link.demand += use.uses * member.limit;
    }
  }
}

void FairShare::freeze(Active& flow, double rate) {
  flow.filled = rate;
  for (const Use& use : uses(flow)) {
    Channel& link = channel(use.link);
    if (link.seen != epoch_) continue;
    --link.rising;
    link.weight -= use.uses;
    link.rest -= use.uses * rate;
  }
}

// Progressive filling. A link's share only grows while others freeze, so an entry of the heap that
// is out of date comes too early, never too late, and is put back.
void FairShare::fill() {
  const auto later = [](const Bound& a, const Bound& b) { return a.share > b.share; };
  heap_.clear();
  for (const LinkId link : bounds_) {
    if (channel(link).rising > 0) {
      heap_.push_back({channel(link).rest / channel(link).weight, link});
    }
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  by_limit_ = members_;
  const auto less = [this](std::int32_t a, std::int32_t b) {
    return active(a).limit < active(b).limit;
  };
  if (!std::is_sorted(by_limit_.begin(), by_limit_.end(), less)) {
    std::sort(by_limit_.begin(), by_limit_.end(), less);
  }
  std::size_t next_limit = 0;
  double level = 0;
  while (next_limit < by_limit_.size()) {
    Active& least = active(by_limit_[next_limit]);
    if (least.filled > 0) {
      ++next_limit;
      continue;
    }
    if (heap_.empty() || least.limit <= heap_.front().share) {
      freeze(least, least.limit);
      level = std::max(level, least.limit);
      continue;
    }
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Bound first = heap_.back();
    heap_.pop_back();
    const Channel& link = channel(first.link);
    if (link.rising == 0) continue;
    const double share = std::max(link.rest / link.weight, level);
    if (!same_level(share, first.share)) {
      heap_.push_back({share, first.link});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    if (!same_level(share, level)) level = share;
    for (const Crossing& crossing : link.flows) {
      Active& flow = active(crossing.flow);
      if (flow.seen == epoch_ && flow.filled == 0) freeze(flow, std::min(level, flow.limit));
    }
  }
}

void FairShare::apply(std::int32_t flow, double rate, double now) {
  Active& changed = active(flow);
  if (changed.rate > 0 && std::abs(rate - changed.rate) <= 4 * epsilon * rate) return;
  if (changed.rate > 0) {
    changed.left = std::max(0.0, changed.left - changed.rate * (now - changed.updated));
  }
  // Without links nothing limits: the bytes are there at once.
  changed.end = std::isinf(rate) ? now : now + changed.left / rate;
  const bool is_queued = changed.rate > 0;
  changed.updated = now;
  changed.rate = rate;
  // Rates fall and rise again while a flow lasts, and ends are late more often than early: an event
  // that comes too early is cheaper than moving it each time.
  if (is_queued && changed.event <= changed.end) return;
  if (is_queued) queue_.remove(first_id_ + flow);
  changed.event = changed.end;
  queue_.push(first_id_ + flow, changed.event);
}

bool FairShare::is_over(std::int32_t flow) {
  Active& waiting = active(flow);
  if (waiting.event >= waiting.end) return true;
  waiting.event = waiting.end;
  queue_.push(first_id_ + flow, waiting.event);
  return false;
}

}  // namespace collbench
