// Files of one simulated case beside its record: tables of links, ranks and rounds.
#pragma once

#include <iosfwd>

#include "simulator/simulate.h"

namespace collbench {

/// CSV, one row per link that carried anything: link, its ends and class, bytes on the wire, time
/// in use, mean utilisation over the whole time and while in use.
/// Throws InvalidArgument if the engine does not know its links.
void write_link_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome);

/// CSV, one row per rank with its end, then one per round with the end of its last rank.
void write_rank_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome);

}  // namespace collbench
