// What a world is made for: its ranks, its back end, and what they are going to do.
#pragma once

#include <memory>
#include <string>

#include "core/units.h"
#include "transports/play/plan.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

struct WorldSpec {
  std::string backend = "shm";  // a row of backends()
  int ranks = 1;
  std::string algorithm;  // "ring:segments=4", or a black box's own name: "gloo", "mpi:ring"
  /// What back ends that play schedules play for a vector of each size; empty: `algorithm` for all.
  /// It does not travel to ranks that are other processes.
  ScheduleChoice schedules;
  CollectiveChoice other_schedules;  // likewise, for other collectives than all-reduces
  Collective collective;             // beside which the schedules may have others
  std::string groups;            // "2x4": ranks that do it side by side; empty: one group of all
  Bytes bytes{0};                // the largest vector of one rank
  Bytes user_bytes{0};           // memory for the buffers of one rank, 0 where it brings its own
  int communicators = 1;         // of a rank at the same time; more than one: shm with threads only
  bool isolate = false;          // ranks are processes where the back end can have threads as well
  bool private_buffers = false;  // shm with isolate: buffers lie in each process's private memory
  std::string transport;         // one of Backend::transports; cuda: the executor; else empty
  std::string devices;           // cuda: "gpu:0,gpu:1"; empty: all that there are
  bool checksum = false;         // every message is compared with its CRC-32C
  std::string inject;            // faults, as transports/faults/injected_fault.h writes them
};

/// The schedules of a spec. Throws InvalidArgument if its algorithm has none, or not for its
/// collective.
PlayedSchedules schedules_of(const WorldSpec& spec);

/// What rank 0 does for a vector of spec.bytes, in place; mostly all ranks send alike. Throws as
/// schedules_of().
Plan plan_of_rank_0(const WorldSpec& spec, DataType type);

/// What is played for vectors of spec.bytes, for descriptions.
std::string name_of(const WorldSpec& spec);

/// Plays the schedules of a spec on an endpoint, with the checksums and the faults that it asks
/// for; faults lie below the checksums, so that these can find them. `over` completes the
/// description: "ring over gRPC streams". Throws InvalidArgument for faults that cannot be read.
std::unique_ptr<Communicator> play_on(std::unique_ptr<Endpoint> endpoint, const WorldSpec& spec,
                                      const std::string& over);

}  // namespace collbench
