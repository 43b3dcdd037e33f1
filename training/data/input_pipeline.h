// The batches of each replica: which samples of the training set it takes in which step.
//
// Everything follows from the seed, the number of the step and the sizes of the files, which all
// replicas know. So the position in the data is a number, nothing needs to be saved but the step,
// and every replica can compute how many samples a step has in all, also at a ragged end.
// TensorFlow sums a "has data" flag over the workers in every step instead; here nothing is sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "training/data/dataset.h"

namespace collbench {

// How TensorFlow divides batches and samples among workers, to the same numbers.
//
// Source: tensorflow/python/data/experimental/ops/distribute.py, batch_sizes_for_worker() and the
// legacy RebatchDataset; tensorflow/python/distribute/distribute_lib.py, InputContext.

/// off: every worker reads all samples, in an order of its own. file: whole files, worker w those
/// w, w + W, ... data: a slice of every global batch. automatic: file where the samples come from
/// files, else data; unlike TensorFlow also data where there are fewer files than workers. Replicas
/// of one worker share its batches, whatever the policy.
enum class AutoShard : std::uint8_t { automatic, off, file, data };

/// "auto", "off", "file", "data" in either case. Throws InvalidArgument.
AutoShard parse_auto_shard(const std::string& text);
std::string to_string(AutoShard policy);

/// The sizes of the batches that one worker's replicas take in turn. `global_batch` over
/// `workers` x `replicas_per_worker` replicas; every step of all workers together takes
/// `global_batch` samples.
std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int workers,
                                                 int replicas_per_worker, int worker);

/// Of the slices into which DATA cuts a batch of `batch` samples, that of one replica:
/// ceil(batch / replicas) each, so that the last may be short or empty.
std::int64_t data_slice(std::int64_t batch, int replicas, int replica);

/// Throws InvalidArgument, in the words of TensorFlow's InputContext.get_per_replica_batch_size,
/// unless the batch is a multiple of the number of replicas.
std::int64_t per_replica_batch(std::int64_t global_batch, int replicas);

struct InputOptions {
  std::int64_t global_batch = 64;
  std::uint64_t seed = 1;
  AutoShard sharding = AutoShard::automatic;
  bool drop_remainder = true;  // of each worker; false: its last step of a pass takes what is left
  int replicas = 1;            // of a worker
};

/// Samples of one step, of one replica and of all.
struct StepSize {
  std::int64_t mine = 0;
  std::int64_t all = 0;
};

/// Thread safety: one thread.
class InputPipeline {
 public:
  /// Of replica `replica` of `replicas` in all: a multiple of those of a worker. Throws
  /// InvalidArgument if the batch does not fit the samples, or the files the workers.
  InputPipeline(const Dataset& data, const InputOptions& options, int replicas, int replica);

  AutoShard sharding() const { return options_.sharding; }  // what automatic has become
  /// What decides, beside the seed, which samples a step takes: "data", whose steps are those of
  /// any number of workers, or "file among 2 workers".
  std::string division() const;
  std::int64_t steps_per_pass() const { return steps_; }
  /// The most samples that this replica takes in a step.
  std::int64_t largest() const;
  StepSize size_of_step(std::int64_t step) const;
  /// The samples of step 0, 1, ..; after the last of a pass comes the first of the next, in a new
  /// order.
  StepSize read(std::int64_t step, std::vector<float>& images, std::vector<int>& labels);

 private:
  // Not for data: each worker has a pass of its own, and its replicas take its batches in turn.
  std::int64_t samples_of(int worker) const;
  std::int64_t before(int worker, std::int64_t batch) const;
  /// Samples of `count` batches from `first` on, of one step, as far as the worker has them;
  /// without remainders none, unless it has its whole part of the step.
  std::int64_t taken(int worker, std::int64_t first, int count) const;
  std::int64_t count_of(int worker, std::int64_t step) const {
    return taken(worker, step * options_.replicas, options_.replicas);
  }
  std::int64_t batch_of_step(std::int64_t step) const {  // that this replica takes
    return step * options_.replicas + replica_ % options_.replicas;
  }
  void choose_policy();
  void count_steps();
  void make_order(std::int64_t pass);

  const Dataset& data_;
  InputOptions options_;
  int replicas_;
  int replica_;
  int workers_;
  int worker_;
  std::int64_t steps_ = 0;
  std::int64_t pass_ = -1;
  std::vector<std::int64_t> order_;  // of this pass; data: of all samples, else of the worker's own
};

}  // namespace collbench
