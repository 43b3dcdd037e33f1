// Ranks compare what they were asked to do before they do it: a rank that disagrees would corrupt
// sums or hang the others, so it is named instead.
#pragma once

#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/rendezvous.h"

namespace collbench {

/// Every rank's text in rank order. Collective; texts may differ in length.
std::vector<std::string> gather_text(const std::string& mine, Rendezvous& rendezvous);

/// Throws TransportError on every rank, "rank 2 has data type f64 where rank 0 has f32", if a
/// rank's case or sampling differs from rank 0's. Collective.
void require_agreement(const Case& which, const Sampling& sampling, Rendezvous& rendezvous);

}  // namespace collbench
