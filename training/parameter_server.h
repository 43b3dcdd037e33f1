// The `parameter-server` strategy: asynchronous workers and servers that keep the variables, as
// threads of one process.
//
// A step is a closure, as TensorFlow's coordinator schedules them: whichever worker is free takes
// the next one, reads the variables, computes the gradient of its batch, and hands it to the
// servers, which apply it at once. Nobody waits for another worker, so the variables may have
// changed in between: that is the staleness of an update. One worker gives the result of one
// replica, but for the rounding of Adam in f32, whose vectors follow the shards; more workers give
// results that differ from run to run.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "training/replica.h"

namespace collbench {

/// Consecutive elements of one variable, on one server.
struct VariableShard {
  int tensor = 0;
  int server = 0;
  std::int64_t first = 0;  // element of the flat vector
  std::int64_t count = 0;
};

/// Variables go to servers in turn, by their place in the model. One of more than `least` bytes is
/// divided into shards of at least that, no more than servers, the first ones an element larger
/// where they are not equal. Source: tensorflow/python/distribute, parameter_server_strategy_v2.py
/// and sharded_variable.py, MinSizePartitioner with its 256 KiB.
std::vector<VariableShard> place_variables(std::span<const Tensor> tensors, int element_bytes,
                                           int servers, Bytes least = {256 << 10});

struct ServerReport {
  std::vector<ReplicaReport> workers;  // the epochs are in the first; steps are each worker's own
  double mean_staleness = 0;           // updates by others between reading and updating
  std::int64_t most_staleness = 0;
  std::vector<std::int64_t> server_bytes;
};

/// `plan.global_batch` is that of one step, and so of one worker. Of the hooks, only on_step is
/// called, by one thread at a time. Throws InvalidArgument for less than one worker or server, and
/// as check() does.
ServerReport train_parameter_server(const TrainingPlan& plan, int workers, int servers,
                                    const Dataset& data, const Dataset& held_out,
                                    const ReplicaHooks& hooks = {});

}  // namespace collbench
