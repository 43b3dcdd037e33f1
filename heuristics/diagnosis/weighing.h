// How likely every suspicion of a table is, by how well its curve fits the measured one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "heuristics/diagnosis/causes.h"
#include "heuristics/diagnosis/model_error.h"
#include "heuristics/diagnosis/suspicions.h"

namespace collbench {

/// ln(measured / expected) at the i-th size of the suspicion.
Deviation deviation_of(const Suspicion& suspicion, std::size_t i, Bytes bytes, Seconds measured);

bool is_fault(const Cause* cause);

struct Weighed {
  const Suspicion* suspicion = nullptr;
  double probability = 0;
};
/// Probabilities of all suspicions, largest first; the first of `suspicions` is as it should be.
/// `error` is that of expected times.
std::vector<Weighed> weigh(const std::vector<Suspicion>& suspicions, std::span<const Bytes> sizes,
                           std::span<const Seconds> measured, const ModelError& error);

/// One cause, all its strengths.
struct WeighedCause {
  const Cause* cause = nullptr;
  double probability = 0;
  const Suspicion* best = nullptr;  // its likeliest strength
};
/// Likeliest curve first, and of one curve the likeliest cause.
std::vector<WeighedCause> by_cause(const std::vector<Weighed>& weighed);

/// The first of the causes that leave the curve of this one, or itself: fewer adapters, adapters
/// far from their GPUs and flows that collide all take a share of the rate at large sizes and
/// nothing else, and a table tells them apart by the usual strengths only.
std::string_view curve_of(std::string_view cause);

}  // namespace collbench
