// Functions from schedules to schedules: the grammar in which composite all-reduces are written.
//
// A hierarchical all-reduce is a sequence of reduce-scatters embedded in smaller and smaller
// groups, then the mirrored all-gathers; a torus all-reduce is several of those, concurrent on
// disjoint chunks. None of these stores operations: each computes an operation from its parts when
// asked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/collective.h"
#include "algorithms/schedule.h"

namespace collbench {

/// Plays the stages one after another. Requires at least one stage, and equal ranks and chunks;
/// keeps the partition of the first.
Schedule sequence(std::string name, std::vector<Schedule> stages);

/// Plays the parts at the same time; parts with fewer rounds idle at the end. The parts must touch
/// disjoint chunks or disjoint ranks. Requires as sequence().
Schedule concurrent(std::string name, std::vector<Schedule> parts);

/// The same with the parts as its tracks(). They must touch disjoint chunks and have no tracks of
/// their own; a single part stays as it is, but for the name.
Schedule tracks(std::string name, std::vector<Schedule> parts);

/// Where one rank sits in an embedded schedule: it plays inner rank `rank`; inner rank i is the
/// outer rank base + stride * i; inner chunks are equal consecutive pieces of `target`.
struct Seat {
  Rank rank = 0;
  Rank base = 0;
  int stride = 1;
  Chunks target;
};
using Seating = std::function<std::optional<Seat>(Rank)>;

/// Plays `inner` on some of `ranks` ranks and `chunks` chunks: in one group, or in several disjoint
/// groups at once, each on its own target. Ranks without a seat are idle.
/// Requires inner.chunks() to divide the size of every target.
Schedule embed(const Schedule& inner, int ranks, int chunks, Seating seating);

/// Plays `inner` on the listed ranks (inner rank i is members[i]) and on the chunks of `target`.
/// Requires distinct members, one per inner rank.
Schedule embed(const Schedule& inner, int ranks, int chunks, const std::vector<Rank>& members,
               Chunks target);

/// Plays `inner` in every one of the groups at once, each on the whole vector. Requires that they
/// have inner.ranks() ranks each, and every rank once together.
Schedule side_by_side(const Schedule& inner, const Groups& groups);

/// Runs time backwards: a reduction from a to b becomes a copy from b to a. The mirror of a
/// reduce-scatter whose sums flow along trees is the matching all-gather, with equal cost. The
/// other way round, with `receive` recv_reduce, a copy from a to b becomes a reduction from b to a.
Schedule mirrored(const Schedule& schedule, OpKind receive = OpKind::recv);

/// Cuts every message into `pieces` messages of one round: transport, reduction and the next piece
/// overlap inside the round. Chunk c becomes chunks [c * pieces, (c + 1) * pieces).
Schedule split(const Schedule& schedule, int pieces);

/// Extends an all-reduce over the first inner.ranks() ranks to `ranks` ranks: each further rank p+i
/// gives its vector to rank i before and gets the result after. Requires ranks < 2 inner.ranks().
/// Source: Thakur, Rabenseifner, Gropp 2005 (there between neighbours).
Schedule folded(const Schedule& inner, int ranks);

}  // namespace collbench
