// What fair_share.h keeps of bundles: their routes, their places on links, and their flows in the
// order in which they end.
#include <algorithm>
#include <bit>
#include <utility>

#include "simulator/fair_share.h"

namespace collbench {

// The same for all paths of the same links, but where their hashes happen to be equal.
std::int32_t FairShare::route_of(const LinkPath& path) {
  std::uint64_t hash = path.links.size();
  for (const auto& [link, count] : path.links) {
    hash = (hash ^ static_cast<std::uint64_t>(link)) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 32) ^ std::bit_cast<std::uint64_t>(count)) * 0xbf58476d1ce4e5b9u;
    hash ^= hash >> 32;
  }
  std::int32_t& known = known_routes_(static_cast<std::int32_t>(hash & 0x7fffffff),
                                      static_cast<std::int32_t>(hash >> 32));
  const auto same = [](const Use& use, const LinkPath::Use& of_path) {
    return use.link == of_path.link && use.uses == of_path.uses;
  };
  if (known > 0) {
    const Route& route = routes_[static_cast<std::size_t>(known) - 1];
    const auto first = uses_.begin() + route.first;
    if (std::equal(first, first + route.length, path.links.begin(), path.links.end(), same)) {
      return known - 1;
    }
  }
  Route route{static_cast<std::int32_t>(uses_.size()), static_cast<std::int32_t>(path.links.size()),
              infinity};
  for (const auto& [link, count] : path.links) {
    uses_.push_back({link, count});
    route.limit = std::min(route.limit, channel(link).capacity / count);
  }
  routes_.push_back(route);
  known = static_cast<std::int32_t>(routes_.size());
  return known - 1;
}

void FairShare::learn(const std::vector<LinkPath>& paths) {
  for (std::size_t p = route_of_path_.size(); p < paths.size(); ++p) {
    route_of_path_.push_back(route_of(paths[p]));
  }
}

// A bundle's hops are consecutive entries of places_. Freed ones are kept in a list per length,
// linked through their first entry, so that a bundle that begins does not allocate.
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
  const Crossing last = on.bundles.back();
  on.bundles[static_cast<std::size_t>(place)] = last;
  places_[static_cast<std::size_t>(last.hop)] = place;
  on.bundles.pop_back();
  if (!on.bundles.empty()) return;
  on.demand = on.uses = 0;  // what rounding left
  if (link_use_) {
    const auto l = static_cast<std::size_t>(link);
    used_[l].busy += Seconds{now - busy_since_[l]};
  }
}

// The one that flows with this limit join, or a new one. Flows without links are each by itself:
// nothing binds them together.
std::int32_t FairShare::bundle_along(std::int32_t route, double limit, double now) {
  Route& along = routes_[static_cast<std::size_t>(route)];
  if (along.length > 0) {
    for (std::int32_t known = along.bundles; known >= 0; known = bundle(known).next) {
      if (bundle(known).limit == limit) return known;
    }
  }
  if (free_bundle_ < 0) {
    free_bundle_ = static_cast<std::int32_t>(bundles_.size());
    bundles_.emplace_back();
  }
  const std::int32_t number = free_bundle_;
  Bundle& begun = bundle(number);
  free_bundle_ = begun.next;
  begun = {.updated = now, .limit = limit, .route = route, .fresh = begun.fresh};
  begun.next = std::exchange(along.bundles, number);
  if (along.length > 0) begun.hop = take_hops(along.length);
  std::int32_t hop = begun.hop;
  for (const Use& use : uses(begun)) {
    Channel& link = channel(use.link);
    if (link_use_ && link.bundles.empty()) busy_since_[static_cast<std::size_t>(use.link)] = now;
    places_[static_cast<std::size_t>(hop)] = static_cast<std::int32_t>(link.bundles.size());
    link.bundles.push_back({use.uses, number, hop++});
  }
  return number;
}

// Of a bundle without flows.
void FairShare::release(std::int32_t number, double now) {
  Bundle& over = bundle(number);
  Route& along = routes_[static_cast<std::size_t>(over.route)];
  std::int32_t hop = over.hop;
  for (const Use& use : uses(over)) erase(use.link, hop++, now);
  if (over.hop >= 0) {
    std::int32_t& free = free_hops_[static_cast<std::size_t>(along.length)];
    places_[static_cast<std::size_t>(over.hop)] = std::exchange(free, over.hop);
  }
  std::int32_t* link = &along.bundles;
  while (*link != number) link = &bundle(*link).next;
  *link = over.next;
  over.next = std::exchange(free_bundle_, number);
}

// Pairing heaps (Fredman, Sedgewick, Sleator, Tarjan 1986) by when flows end.
std::int32_t FairShare::joined(std::int32_t a, std::int32_t b) {
  if (a < 0 || b < 0) return std::max(a, b);
  const auto key = [this](std::int32_t flow) {
    return std::pair(active(flow).target, active(flow).order);
  };
  if (key(b) < key(a)) std::swap(a, b);
  active(b).sibling = std::exchange(active(a).later, b);
  return a;
}

std::int32_t FairShare::without_first(std::int32_t first) {
  std::int32_t pairs = -1;
  for (std::int32_t a = active(first).later; a >= 0;) {
    const std::int32_t b = active(a).sibling;
    const std::int32_t next = b < 0 ? -1 : active(b).sibling;
    a = joined(a, b);
    active(a).sibling = std::exchange(pairs, a);
    a = next;
  }
  std::int32_t rest = -1;
  while (pairs >= 0) {
    const std::int32_t next = active(pairs).sibling;
    rest = joined(rest, pairs);
    pairs = next;
  }
  return rest;
}

}  // namespace collbench
