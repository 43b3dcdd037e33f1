// The variables of one parameter server: shards of the model's tensors, each with the part of the
// optimizer that updates it, and on one server the moving statistics.
//
// Shards lie one after the other, in the order of the list: that is what "packed" means below. A
// shard is read and updated atomically, but others may change between two shards: asynchronous
// training guarantees no more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/data_type.h"
#include "training/optimizer.h"

namespace collbench {

/// The content of a store; everything is packed.
struct StoreContents {
  std::string engine;  // whose optimizer it is
  DataType type = DataType::f32;
  OptimizerSpec optimizer;
  std::vector<std::int64_t> shards;  // elements of each
  std::vector<double> values;
  std::vector<double> statistics;
  OptimizerState state;  // no slots: of one that has updated nothing
};

/// Thread safety: any number of threads.
class VariableStore {
 public:
  /// Throws InvalidArgument for contents that contradict each other, Unavailable for an engine that
  /// this build has not.
  explicit VariableStore(const StoreContents& contents);

  /// Sizes of what read() gives, in bytes.
  std::int64_t value_bytes() const { return std::ssize(values_); }
  std::int64_t statistic_bytes() const { return std::ssize(statistics_); }

  /// Copies values and statistics. Returns the number of updates begun before.
  std::int64_t read(std::span<std::byte> values, std::span<std::byte> statistics) const;
  /// Applies gradients, and adds what statistics have moved by. Returns the number of updates begun
  /// before this one. Throws InvalidArgument for other sizes.
  std::int64_t update(std::span<const std::byte> gradients, std::span<const std::byte> moves);
  /// The content from which an equal store can be made.
  StoreContents contents() const;

 private:
  struct Shard {
    mutable std::mutex mutex;
    std::int64_t first = 0;  // packed element
    std::int64_t count = 0;
    std::unique_ptr<Optimizer> optimizer;
  };
  Region values(const Shard& shard) const;

  StoreContents made_of_;  // without what changes
  std::vector<std::byte> values_;
  std::vector<std::byte> statistics_;
  mutable std::mutex statistics_mutex_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<std::int64_t> updates_{0};
};

}  // namespace collbench
