// How TensorFlow divides batches and samples among workers, to the same numbers.
//
// Source: tensorflow/python/data/experimental/ops/distribute.py, batch_sizes_for_worker() and the
// legacy RebatchDataset; tensorflow/python/distribute/distribute_lib.py, InputContext.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace collbench {

/// off: every worker reads all samples, in an order of its own. file: whole files, worker w those
/// w, w + W, ... data: a slice of every global batch. automatic: file where the samples come from
/// files, else data; unlike TensorFlow also data where there are fewer files than workers.
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

}  // namespace collbench
