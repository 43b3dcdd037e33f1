// Files of one simulated case beside its record: tables of links, ranks and rounds, and a trace for
// ui.perfetto.dev, chrome://tracing and speedscope.
#pragma once

#include <cstdint>
#include <iosfwd>

#include "simulator/simulate.h"

namespace collbench {

/// CSV, one row per link that carried anything: link, its ends and class, bytes on the wire, time
/// in use, mean utilisation over the whole time and while in use.
/// Throws InvalidArgument if the engine does not know its links.
void write_link_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome);

/// CSV, one row per rank with its end, then one per round with the end of its last rank.
void write_rank_csv(std::ostream& out, const Scenario& scenario, const Outcome& outcome);

/// Messages a trace may have: beyond some hundred megabytes viewers fail.
inline constexpr std::int64_t most_traced_transfers = 200'000;

/// Writes the Chrome trace event format (JSON): a process per rank; each message is an asynchronous
/// slice of its sender, from ready to arrival, whose nested slice "flows" is the time after its
/// latency. Times are microseconds. Says in its metadata how many messages were left out.
/// Source: Trace Event Format, Google 2016, events "b", "e", "M".
void write_chrome_trace(std::ostream& out, const Scenario& scenario, const Outcome& outcome);

}  // namespace collbench
