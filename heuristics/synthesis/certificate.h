// The bound of a collective on a network with what proves it, for users and for other programs.
#pragma once

#include <optional>
#include <string>

#include "algorithms/collective.h"
#include "heuristics/synthesis/bound.h"
#include "topologies/topology.h"

namespace collbench {

struct Certificate {
  Topology topology;
  CollectiveKind goal;
  ThroughputBound bound;
  std::optional<Fraction> two_halves{};  // of all-reduce: reduce-scatter, then all-gather
  std::optional<Fraction> weakest{};     // of all-reduce: by one cut
  int trees = 0;                         // of each root, that were asked for; 0: as many as help
};

/// `trees` per root of all-gather, or 0 for as many as the bound needs. Throws InvalidArgument for
/// a network with one rank or in parts, or unless links_join_routes(), for a collective with a
/// root, and for `trees` of another collective.
Certificate certify(const Topology& topology, CollectiveKind goal, int trees = 0);

/// {"seconds_per_GB": "7/2400", "cut": ["g0"], "entering": false, ...}; docs/synthesis.md has all.
std::string to_json(const Certificate& certificate);
/// A few lines that say the cut in words.
std::string to_text(const Certificate& certificate);

}  // namespace collbench
