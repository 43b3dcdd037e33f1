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

/// The values, to be sent to what compares them.
std::string text_of(const std::vector<NamedValue>& values);
/// Throws TransportError, "OTHER has data type f64 where FIRST has f32", for the first of `names`
/// whose value in the text `theirs` of OTHER differs from that in FIRST's.
void require_same(const std::vector<NamedValue>& names, const std::string& first_name,
                  const std::string& firsts, const std::string& other_name,
                  const std::string& theirs);

/// Throws TransportError on every rank, "rank 2 has data type f64 where rank 0 has f32", if a
/// rank's value differs from rank 0's. Collective; all ranks have the same names in one order.
void require_same(const std::vector<NamedValue>& mine, Rendezvous& rendezvous);

/// Runs `task` on every rank. What it throws on one is thrown there, and on all others as
/// TransportError, "rank 2 cannot take part: no memory", so that no rank waits for one that has
/// given up. `all_refused`, unless null, becomes whether every rank did, in the sense of
/// is_refusal(), so that they can go on together. Collective.
void together(Rendezvous& rendezvous, const std::function<void()>& task,
              bool* all_refused = nullptr);

}  // namespace collbench
