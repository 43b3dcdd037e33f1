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

void FairShare::touch(LinkId link) {
  if (channel(link).touched) return;
  channel(link).touched = true;
  touched_.push_back(link);
}

std::vector<LinkUse> FairShare::link_use(double now) const {
  std::vector<LinkUse> used = used_;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!links_[l].bundles.empty()) used[l].busy += Seconds{now - busy_since_[l]};
  }
  return used;
}

void FairShare::refresh(std::int32_t number) {
  if (bundle(number).fresh) return;
  bundle(number).fresh = true;
  fresh_.push_back(number);
}

void FairShare::start(std::int32_t flow, std::int32_t path, double bytes, double cap, double now) {
  const std::int32_t along = route_of_path_[static_cast<std::size_t>(path)];
  const double most = routes_[static_cast<std::size_t>(along)].limit;
  const double limit = cap > 0 ? std::min(cap, most) : most;
  const std::int32_t number = bundle_along(along, limit, now);
  Bundle& with = bundle(number);
  if (with.flows == 0) {
    with.moved = -bytes;
    with.updated = now;
  }
  const double moved = with.rate > 0 ? with.moved + with.rate * (now - with.updated) : with.moved;
  active(flow) = {.target = moved + bytes, .order = order_++, .bundle = number};
  with.first = joined(with.first, flow);
  ++with.flows;
  if (link_use_) {
    for (const Use& use : uses(with)) {
      used_[static_cast<std::size_t>(use.link)].bytes += use.uses * bytes;
    }
  }
  refresh(number);
}

void FairShare::end(std::int32_t flow, double now) {
  const std::int32_t number = active(flow).bundle;
  Bundle& of = bundle(number);
  of.first = without_first(flow);
  --of.flows;
  refresh(number);
  if (of.flows == 0) return;
  // Flows that end together do so within one moment.
  const double next = end_of_first(of, now);
  if (next <= EventQueue::moment_end(now)) queue_first(of, next);
}

// A flow that follows another at once leaves the rates of all as they are.
void FairShare::count(Bundle& changed) {
  const double more = changed.flows - changed.counted;
  if (more == 0) return;
  changed.counted = changed.flows;
  for (const Use& use : uses(changed)) {
    Channel& link = channel(use.link);
    const bool was_tight = tight(link);
    link.demand += use.uses * changed.limit * more;
    link.uses += use.uses * more;
    if (was_tight && more < 0) level_ = std::min(level_, changed.rate);
    if (was_tight || tight(link)) touch(use.link);
  }
  changed.grown = more > 0;
}

// Only flows that the starts and ends of this moment can affect are solved again. Flows on links
// that are not tight run at their own limits and need no solving.
void FairShare::settle(double now) {
  for (const std::int32_t number : fresh_) count(bundle(number));
  for (const std::int32_t number : fresh_) {
    if (bundle(number).grown) level_ = std::min(level_, start_level(bundle(number)));
    if (bundle(number).flows == 0) release(number, now);
  }
  if (!touched_.empty()) {
    collect();
    weigh();
    fill();
    for (const std::int32_t number : members_) apply(number, bundle(number).filled, now);
    for (const LinkId link : touched_) channel(link).touched = false;
    touched_.clear();
  }
  level_ = infinity;
  for (const std::int32_t number : fresh_) {
    Bundle& changed = bundle(number);
    changed.fresh = changed.grown = false;
    if (changed.flows == 0) continue;
    if (changed.rate == 0) {
      apply(number, changed.limit, now);
    } else {
      queue_first(changed, end_of_first(changed, now));
    }
  }
  fresh_.clear();
}

// A lower bound of the rate of a flow that has just started: max-min fairness gives it at least an
// equal share of its most crowded link.
double FairShare::start_level(const Bundle& begun) {
  double level = begun.limit;
  for (const Use& use : uses(begun)) {
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
  for (const Crossing& here : on.bundles) {
    Bundle& crossing = bundle(here.bundle);
    if (crossing.seen == epoch_) continue;
    if (crossing.rate > 0 && crossing.rate < slow && !crossing.grown) {
      if (!bound) continue;
      on.rest -= here.uses * crossing.flows * crossing.rate;
      on.demand += here.uses * crossing.flows * crossing.limit;
      continue;
    }
    crossing.seen = epoch_;
    members_.push_back(here.bundle);
    for (const Use& use : uses(crossing)) bind(use.link);
  }
}

void FairShare::weigh() {
  for (const std::int32_t number : members_) {
    Bundle& member = bundle(number);
    member.filled = 0;
    for (const Use& use : uses(member)) {
      Channel& link = channel(use.link);
      if (link.seen != epoch_) continue;
      ++link.rising;
      link.weight += use.uses * member.flows;
      link.demand += use.uses * member.flows * member.limit;
    }
  }
}

void FairShare::freeze(Bundle& member, double rate) {
  member.filled = rate;
  for (const Use& use : uses(member)) {
    Channel& link = channel(use.link);
    if (link.seen != epoch_) continue;
    --link.rising;
    link.weight -= use.uses * member.flows;
    link.rest -= use.uses * member.flows * rate;
  }
}

// Puts a bound into the first place of the heap and down to where it belongs.
void FairShare::put_first(Bound bound) {
  std::size_t place = 0;
  for (std::size_t next = 1; next < heap_.size(); next = 2 * place + 1) {
    if (next + 1 < heap_.size() && heap_[next + 1].share < heap_[next].share) ++next;
    if (bound.share <= heap_[next].share) break;
    heap_[place] = heap_[next];
    place = next;
  }
  heap_[place] = bound;
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
    return bundle(a).limit < bundle(b).limit;
  };
  if (!std::is_sorted(by_limit_.begin(), by_limit_.end(), less)) {
    std::sort(by_limit_.begin(), by_limit_.end(), less);
  }
  std::size_t next_limit = 0;
  double level = 0;
  while (next_limit < by_limit_.size()) {
    Bundle& least = bundle(by_limit_[next_limit]);
    if (least.filled > 0) {
      ++next_limit;
      continue;
    }
    if (heap_.empty() || least.limit <= heap_.front().share) {
      freeze(least, least.limit);
      level = std::max(level, least.limit);
      continue;
    }
    const Bound first = heap_.front();
    const Channel& link = channel(first.link);
    if (link.rising == 0) {
      put_first(heap_.back());
      heap_.pop_back();
      continue;
    }
    const double share = std::max(link.rest / link.weight, level);
    if (!same_level(share, first.share)) {
      put_first({share, first.link});
      continue;
    }
    if (!same_level(share, level)) level = share;
    for (const Crossing& here : link.bundles) {
      Bundle& member = bundle(here.bundle);
      if (member.seen == epoch_ && member.filled == 0) {
        freeze(member, std::min(level, member.limit));
      }
    }
  }
}

void FairShare::apply(std::int32_t number, double rate, double now) {
  Bundle& changed = bundle(number);
  const bool is_known = changed.rate > 0;
  if (is_known && std::abs(rate - changed.rate) <= 4 * epsilon * rate) return;
  if (is_known) changed.moved += changed.rate * (now - changed.updated);
  changed.updated = now;
  changed.rate = rate;
  if (!changed.fresh) queue_first(changed, end_of_first(changed, now));
}

double FairShare::end_of_first(const Bundle& of, double now) const {
  // Without links nothing limits: the bytes are there at once.
  if (std::isinf(of.rate)) return now;
  const double target = flows_[static_cast<std::size_t>(of.first)].target;
  return std::max(now, of.updated + (target - of.moved) / of.rate);
}

// Rates fall and rise again while a flow lasts, and ends are late more often than early: an event
// that comes too early is cheaper than moving it each time.
void FairShare::queue_first(Bundle& of, double end) {
  of.end = end;
  if (of.queued == of.first && of.event <= end) return;
  if (of.queued >= 0) queue_.remove(first_id_ + of.queued);
  of.queued = of.first;
  of.event = end;
  queue_.push(first_id_ + of.first, end);
}

bool FairShare::is_over(std::int32_t flow) {
  const std::int32_t number = active(flow).bundle;
  Bundle& waiting = bundle(number);
  waiting.queued = -1;
  if (waiting.first != flow) {  // another has come before it since
    refresh(number);
    return false;
  }
  if (waiting.event >= waiting.end) return true;
  queue_first(waiting, waiting.end);
  return false;
}

}  // namespace collbench
