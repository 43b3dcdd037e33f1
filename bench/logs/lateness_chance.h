// Whether ranks that seem late may be the last to arrive by chance.
//
// Operations are no independent draws: a rank that computes slowly in one step of a job comes last
// to all buckets of that step. What counts is how often a rank comes late anew. A visit of a rank
// is a stretch of operations to which it comes late, until it is hardly late once; those of several
// communicators and kinds at one time are one.
//
// A rank that is late in all operations has one visit. It is told from chance by how far it stands
// apart from the other ranks, which holds whatever operations have to do with each other, or by how
// little the two halves of the job differ.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "bench/logs/job_waits.h"

namespace collbench {

// Chances that are not taken: that a rank of four is last four times, whichever it is.
inline constexpr double least_chance = 1. / 64;
// Of waits, which depend on what is assumed of their distribution, a smaller one.
inline constexpr double least_chance_of_waits = 1. / 512;

/// How much the others waited in each visit of a rank, bounded as JobWaits bounds it; by rank of
/// the job. With `only_long`, a visit has an operation that waits beyond that bound.
using Visits = std::map<int, std::vector<double>>;
Visits visits_of(const JobWaits& job, const std::vector<JobOperation>& operations,
                 bool only_long = false);

/// At most the chance that so many of the visits fall on any as many of `members` ranks as `group`
/// has. Visits of hardly any waiting do not count.
double chance_of_visits(const Visits& visits, const std::vector<int>& group, std::size_t members);

/// The ranks, at most a quarter, that nearly all rare long waits are for, in three visits or more.
/// Empty: there are no long waits, or they may be chance.
std::vector<int> late_in_long_waits(const Visits& long_waits, std::size_t members);

/// At most the chance that ranks which do not differ come so much later in the mean, in every
/// quarter of the operations, as those of `group`; 1 where they do not.
double chance_of_waits(const JobWaits& job, const std::vector<JobOperation>& operations,
                       const std::vector<int>& group);

}  // namespace collbench
