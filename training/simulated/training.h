// Real training on simulated workers: the numbers are computed, the time is simulated. The result
// is loss over simulated time.
//
// mirrored: in every step all workers compute on their slices with equal parameters; the sum of
// their gradients updates them. training/simulated/step.h gives the length of a step: buckets are
// all-reduced beside the backward pass of the slowest worker, then all update.
//
// parameter server: every worker takes the next step, fetches parameters, computes on the batch of
// that step with what it fetched, and pushes its gradients; the server applies them as they arrive,
// and the worker fetches what the server then has. So a gradient is as stale as the updates of
// others between its fetch and its arrival, which this plays event by event. Pushes and fetches
// each queue for the server's link, in the order in which they start; with several servers each
// holds an equal share of the parameters, updates it beside the others and has its own link. No
// vector is faster than its worker's link, which is as fast as one of a server; nothing queues
// inside the network.
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "training/data/dataset.h"
#include "training/replica.h"
#include "training/simulated/step.h"

namespace collbench {

/// A server's link, or a worker's, and how far they are from each other.
struct ServerLink {
  Bandwidth rate;  // one direction
  Seconds latency{0};
};

/// After some update.
struct LossPoint {
  Seconds time{0};
  std::int64_t updates = 0;
  std::int64_t samples = 0;
  double loss = 0;  // mean over the samples of the updates since the last point, before each
  double held_out_loss = 0;
  double held_out_accuracy = 0;
  double staleness = 0;  // mean over those updates: how many others came between
};

/// Trains for plan.epochs x plan.steps steps (a pass over the data per epoch if plan.steps is 0),
/// with a point at the start and after each `points`-th part of the samples. The workers are the
/// replicas of one, as threads of a process are, and `step` is a step of such a share of the global
/// batch, for a ragged last one too; its buckets say when gradients travel, and change no sum.
/// Equal arguments give equal points on machines with the same engine. Throws InvalidArgument as
/// check() of the plan and of the step's costs do.
std::vector<LossPoint> train_simulated_mirrored(const TrainingPlan& plan, const StepModel& step,
                                                const Dataset& data, const Dataset& held_out,
                                                int points);

/// The same with parameter servers: a step is the work of one worker, on a whole global batch, and
/// goes to the next one that is free. Of `step` nothing else matters than how many workers there
/// are, what they compute, and which are slow.
std::vector<LossPoint> train_simulated_server(const TrainingPlan& plan, const StepModel& step,
                                              int servers, const ServerLink& link,
                                              const Dataset& data, const Dataset& held_out,
                                              int points);

}  // namespace collbench
