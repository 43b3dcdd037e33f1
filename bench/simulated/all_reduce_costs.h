// Times of all-reduces, or of another collective, of many sizes on one simulated network, for the
// steps of training.
//
// A size is played once, by the cheapest exact engine and with equal chunks but for "synth". "auto"
// chooses the algorithm for each size anew; "nccl" is what NCCL would play
// (heuristics/nccl/library_times.h), with all its channels, which no single schedule has.
#pragma once

#include <map>
#include <string>

#include "bench/simulated/team.h"
#include "core/units.h"

namespace collbench {

/// Thread safety: belongs to one thread.
class AllReduceCosts {
 public:
  /// `algorithm` as the user wrote it. Throws InvalidArgument if the machine does not seat the
  /// workers.
  AllReduceCosts(const std::string& topology, const std::string& algorithm, int workers,
                 CollectiveKind collective = CollectiveKind::all_reduce);

  /// 0 for one worker. Throws InvalidArgument for an algorithm that does not fit.
  Seconds exact(Bytes size);
  /// Between sizes that double from 1 KiB on, in proportion: for plans that try very many sizes.
  Seconds between(Bytes size);
  /// What was played for the nearest of the sizes asked for so far: "ring, Simple". Empty if there
  /// is none, and for one worker.
  std::string played(Bytes size) const;

 private:
  struct Play {
    Seconds time{0};
    std::string name;
  };
  Play play(Bytes size);

  Case point_;
  CaseBinder binder_;
  std::map<Bytes, Play> plays_;
};

}  // namespace collbench
