// What a machine description needs, from a calibration: latency and rate of each level, overhead
// and rate of reductions, with how far each may be off.
//
// Where the measured algorithms are ours and all ranks see each other alike (one node, or one rank
// per node), the costs are those with which predict() comes closest to the measured times, in
// relative terms. Otherwise latencies are read off the trend of the method with the most points,
// half of one for each way, and rates are the most that any size reached; they contain reductions
// then. A system with a structure states its constants, of which those of a plain machine are
// taken. The gap between messages is not fitted: it is what the technology has, by the library, and
// none where that is not known. Only rows of one system and its libraries count, those of the
// structure or the trend with the most points, and only those of several nodes if it has them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heuristics/calibration/calibration.h"

namespace collbench {

struct FittedCost {
  double value = 0;   // seconds, or bytes per second; 0: the data say nothing about it
  double factor = 1;  // may be so many times larger or smaller (one standard deviation)
};

struct FittedMachine {
  int ranks_per_node = 1;  // 1: the network joins ranks
  bool network = false;    // several nodes were measured
  FittedCost overhead;     // of a collective
  FittedCost node_latency;
  FittedCost node_rate;
  FittedCost network_latency;  // there and back again is twice this
  FittedCost network_rate;     // of a node
  FittedCost reduction_rate;   // of a rank
  Seconds message_gap{0};      // from one message of a rank to other nodes to its next
  std::string basis;           // in words: what it was fitted to
  double error = 0;            // median relative error of predict(); 0: not fitted to schedules
};
FittedMachine fit_machine(const Calibration& calibration);

/// The description as TOML, with the measured points in it as [[calibration]], so that it reads
/// back as both a machine (topologies/machine_file.h) and a calibration. With a checksum, so that
/// damage is noticed.
std::string to_toml(const Calibration& calibration, const std::string& summary,
                    const std::string& source);
/// The calibration of a description, with the constants that it states; nothing if it has no
/// points. Throws InvalidArgument as FILE:LINE:, and as Calibration.
std::optional<Calibration> stored_calibration(std::string_view text, const std::string& file);
/// Of the file that a specification of a machine names ("m.toml", "m.toml:8", "cluster:4xm.toml").
/// Throws Unavailable if it cannot be read; nothing if it names no file.
std::optional<Calibration> calibration_of(const std::string& specification);

/// Nodes of ranks as most measured times of several nodes have them on each, if the workers fill
/// such nodes; else 1.
int nodes_as_measured(const Calibration& calibration, int workers);

}  // namespace collbench
