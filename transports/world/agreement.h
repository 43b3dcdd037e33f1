// Ranks compare what they were asked to do before they do it: a rank that disagrees would corrupt
// sums or hang the others, so it is named instead.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "transports/world/rendezvous.h"

namespace collbench {

/// Every rank's text in rank order. Collective; texts may differ in length.
std::vector<std::string> gather_text(const std::string& mine, Rendezvous& rendezvous);

/// A name and its value; neither holds a line break.
using NamedValue = std::pair<std::string, std::string>;

/// Throws TransportError on every rank, "rank 2 has data type f64 where rank 0 has f32", if a
/// rank's value differs from rank 0's. Collective; all ranks have the same names in one order.
void require_same(const std::vector<NamedValue>& mine, Rendezvous& rendezvous);

/// Runs `task` on every rank. What it throws on one is thrown there, and on all others as
/// TransportError, "rank 2 cannot take part: no memory", so that no rank waits for one that has
/// given up. Collective.
void together(Rendezvous& rendezvous, const std::function<void()>& task);

}  // namespace collbench
