#include "simulator/fair_share.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collbench {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// Shares that differ by rounding only are one level, so that flows of equal fate end together.
bool same_level(double share, double level) { return share <= level * (1 + 64 * epsilon); }

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

void FairShare::learn(const std::vector<Path>& paths) {
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

std::int32_t FairShare::take_hops(std::int32_t length) {
  const auto kind = static_cast<std::size_t>(length);
  if (kind >= free_hops_.size()) free_hops_.resize(kind + 1, -1);
  const std::int32_t first = free_hops_[kind];
  if (first < 0) {
    const auto fresh = static_cast<std::int32_t>(hops_.size());
    hops_.resize(hops_.size() + kind);
    return fresh;
  }
  free_hops_[kind] = hops_[static_cast<std::size_t>(first)].next;
  return first;
}

void FairShare::insert(LinkId link, std::int32_t hop, double now) {
  Channel& on = channel(link);
  Hop& own = hops_[static_cast<std::size_t>(hop)];
  own.next = on.head;
  own.previous = -1;
  if (on.head >= 0) {
    hops_[static_cast<std::size_t>(on.head)].previous = hop;
  } else if (link_use_) {
    busy_since_[static_cast<std::size_t>(link)] = now;
  }
  on.head = hop;
}

void FairShare::erase(LinkId link, std::int32_t hop, double now) {
  Channel& on = channel(link);
  const Hop& own = hops_[static_cast<std::size_t>(hop)];
  (own.previous >= 0 ? hops_[static_cast<std::size_t>(own.previous)].next : on.head) = own.next;
  if (own.next >= 0) hops_[static_cast<std::size_t>(own.next)].previous = own.previous;
  if (on.head >= 0) return;
  on.demand = 0;  // what rounding left
  if (link_use_) {
    const auto l = static_cast<std::size_t>(link);
    used_[l].busy += Seconds{now - busy_since_[l]};
  }
}

std::vector<LinkUse> FairShare::link_use(double now) const {
  std::vector<LinkUse> used = used_;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (links_[l].head >= 0) used[l].busy += Seconds{now - busy_since_[l]};
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
    hops_[static_cast<std::size_t>(hop)].flow = flow;
    insert(use.link, hop++, now);
    link.demand += use.uses * begun.limit;
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
    if (tight(link)) touch(use.link);
    link.demand -= use.uses * ended.limit;
    erase(use.link, hop++, now);
  }
  if (ended.hop < 0) return;
  std::int32_t& free =
      free_hops_[static_cast<std::size_t>(routes_[static_cast<std::size_t>(ended.path)].length)];
  hops_[static_cast<std::size_t>(ended.hop)].next = free;
  free = ended.hop;
}

void FairShare::settle(double now) {
  if (!touched_.empty()) {
    collect();
    weigh();
    fill();
    for (const std::int32_t flow : members_) apply(flow, active(flow).filled, now);
    for (const LinkId link : touched_) channel(link).touched = false;
    touched_.clear();
  }
  for (const std::int32_t flow : started_) {
    if (active(flow).rate == 0) apply(flow, active(flow).limit, now);
  }
  started_.clear();
}

// Finds the flows that the touched links can have changed, and the tight links that bind them.
void FairShare::collect() {
  ++epoch_;
  members_.clear();
  bounds_.clear();
  const auto bind = [this](LinkId link) {
    Channel& found = channel(link);
    if (found.seen == epoch_ || !tight(found)) return;
    found.seen = epoch_;
    bounds_.push_back(link);
  };
  const auto visit = [&](LinkId link) {
    for (std::int32_t hop = channel(link).head; hop >= 0;) {
      const auto [flow, next, previous] = hops_[static_cast<std::size_t>(hop)];
      hop = next;
      if (active(flow).seen == epoch_) continue;
      active(flow).seen = epoch_;
      members_.push_back(flow);
      for (const Use& use : uses(active(flow))) bind(use.link);
    }
  };
  for (const LinkId link : touched_) visit(link);
  for (std::size_t i = 0; i < bounds_.size(); ++i) visit(bounds_[i]);
}

void FairShare::weigh() {
  for (const LinkId link : bounds_) {
    Channel& bound = channel(link);
    bound.rising = 0;
    bound.weight = 0;
    bound.demand = 0;
    bound.rest = bound.capacity;
  }
  for (const std::int32_t flow : members_) {
    Active& member = active(flow);
    member.filled = 0;
    for (const Use& use : uses(member)) {
      Channel& link = channel(use.link);
      if (link.seen != epoch_) continue;
      ++link.rising;
      link.weight += use.uses;
      link.demand += use.uses * member.limit;  // anew, without what rounding added up
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
    heap_.push_back({channel(link).rest / channel(link).weight, link});
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
    for (std::int32_t hop = link.head; hop >= 0; hop = hops_[static_cast<std::size_t>(hop)].next) {
      Active& flow = active(hops_[static_cast<std::size_t>(hop)].flow);
      if (flow.filled == 0) freeze(flow, std::min(level, flow.limit));
    }
  }
}

void FairShare::apply(std::int32_t flow, double rate, double now) {
  Active& changed = active(flow);
  if (changed.rate > 0 && std::abs(rate - changed.rate) <= 4 * epsilon * rate) return;
  if (changed.rate > 0) {
    changed.left = std::max(0.0, changed.left - changed.rate * (now - changed.updated));
    queue_.remove(first_id_ + flow);
  }
  changed.updated = now;
  changed.rate = rate;
  // Without links nothing limits: the bytes are there at once.
  queue_.push(first_id_ + flow, std::isinf(rate) ? now : now + changed.left / rate);
}

}  // namespace collbench
