// Files of `collbench simulate --trace` and `--links`, read for the page: pictures of a case
// without simulating it again.
#pragma once

#include <string>

#include "bench/reports/replay.h"

namespace collbench {

/// Whether a text begins as such a file does.
bool is_trace(const std::string& text);
bool is_link_table(const std::string& text);

/// The messages of a trace as bench/reports/chrome_trace.h writes it, at most 4,000: the first to
/// arrive. The network is empty. Throws InvalidArgument saying what is missing.
Replay trace_from_json(const std::string& text, const std::string& name);

/// The network of a table of links; the messages are empty. A vertex is a host if its name says so
/// ("node 1 host 3"); if none does, all are. Throws InvalidArgument naming the line.
Replay links_from_csv(const std::string& text, const std::string& name);

/// Whether two such parts can be one picture: every host of the trace is in the table.
bool belong_together(const Replay& trace, const Replay& links);
/// The trace with the network of the table.
Replay joined(Replay trace, const Replay& links);

}  // namespace collbench
