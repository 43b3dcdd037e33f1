// A sweep says which cases to run: algorithms x back ends x workers x sizes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "bench/records/case.h"

namespace collbench {

/// The axes. Sizes go from `first` to `last`, multiplied by `factor` or, if `step` is not 0, in
/// steps.
struct Sweep {
  // Names with options, each perhaps with its own back end and transport: "ring@grpc-tcp"; "all" is
  // every schedule.
  std::vector<std::string> algorithms{"auto"};
  std::string usual = "auto";                 // that "auto" stands for; "auto": shared memory
  std::vector<std::string> backends{"auto"};  // "auto", "shm" (or "threads"), "grpc", "gloo", "mpi"
  std::vector<int> workers{2};
  Bytes first{1 << 10};
  Bytes last{64 << 20};
  double factor = 4;
  Bytes step{0};
  bool in_place = true;
  bool out_of_place = false;  // both may hold: every size is measured both ways
  std::string executor;       // of cases on cuda
  Case common;                // everything that does not vary
};

/// An algorithm of a sweep and where it runs.
struct PlacedAlgorithm {
  std::string algorithm;  // "ring:segments=4"
  std::string backend;    // as it was written; empty: those of the sweep
};
/// Reads "ring@grpc". An "@" in the path of a "file:" with a dot or slash behind it is part of the
/// name. Throws InvalidArgument if either side of the "@" is empty.
PlacedAlgorithm placed_algorithm(const std::string& text);

/// The schedules for which `make` throws no InvalidArgument: what "all" stands for.
std::vector<std::string> names_that_fit(const std::function<void(const AlgorithmSpec&)>& make);

/// The sizes of a sweep, each rounded down to whole elements, ascending, without repetition; where
/// the shares have counts, the one that they make up.
/// Throws InvalidArgument for an empty range, a factor not above 1, or more than 100,000 sizes.
std::vector<Bytes> sweep_sizes(const Sweep& sweep);

/// All cases, in the order to run them: by size, so that algorithms and back ends that are compared
/// alternate in time. Every combination is proven possible by making its schedule.
/// Throws InvalidArgument, saying what would be possible, for one that is not; Unavailable for back
/// ends that this build does not have. "all" leaves out schedules that do not fit a worker count.
std::vector<Case> sweep_cases(const Sweep& sweep);

}  // namespace collbench
