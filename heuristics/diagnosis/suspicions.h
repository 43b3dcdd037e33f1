// What may be wrong with a system, as machines on which the model plays: every suspicion changes
// the description of the machine, or what is played on it, and has the times that follow.
//
// A cause has several suspicions, one for each strength it comes in: 7 of 8 adapters, or half of
// the rate because two channels share one. What the library knows of its machine (adapters, paths)
// changes its choice too; what it does not know (congestion, a late rank) changes the time alone.
// Ranges of strength and their sources stand at each.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "heuristics/diagnosis/causes.h"
#include "heuristics/nccl/library_times.h"

namespace collbench {

/// What plain suspicions need to know of a healthy machine's times.
struct HealthyCurve {
  Seconds latency{0};    // the least
  Seconds of_byte{0};    // at the largest size
  Seconds at_64_KiB{0};  // of the largest size up to that
};
/// What a fault makes of a healthy time.
using SlowerTime = std::function<Seconds(const HealthyCurve&, Bytes, Seconds healthy)>;

struct Suspicion {
  const Cause* cause = nullptr;          // null: the system is as it should be
  std::string words;                     // "7 of 8 adapters"
  double weight = 0;                     // how likely before any time is seen; not normalised
  std::vector<Seconds> times;            // of the sizes that were asked for
  Seconds latency{0};                    // of the smallest vectors
  std::vector<std::string> played = {};  // "ring, LL" at each size; empty: not known
  SlowerTime slower = {};                // plain; empty: the times are those of a model
  bool is_unexplained = false;           // slower than `times`, in a way that nothing foretells
};

/// The times of a plain suspicion where the machine takes `healthy` when it is well.
void make_plain(Suspicion& suspicion, const Suspicion& healthy, std::span<const Bytes> sizes);

/// Suspicions for NCCL or RCCL on the machine of `inputs`; the first is the machine as it should
/// be. `question` says what was fixed when measuring; its bytes do not count. Suspicions that the
/// machine cannot have, or that change none of the sizes, are left out.
std::vector<Suspicion> library_suspicions(const NcclInputs& inputs, const LibraryQuestion& question,
                                          std::span<const Bytes> sizes);

/// Suspicions for any other library or algorithm, of which only the expected times are known.
std::vector<Suspicion> curve_suspicions(std::span<const Bytes> sizes,
                                        std::span<const Seconds> expected);

}  // namespace collbench
