// The worker of asynchronous training: reads the variables, computes the gradient of its batch with
// all its replicas, sends it to the servers that hold them, and takes the next closure. It waits
// for no other worker.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/units.h"
#include "training/asynchronous/closures.h"
#include "training/data/dataset.h"
#include "training/model.h"
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

/// Which elements of a flat vector each server has. Packed, they lie one after the other.
class Placement {
 public:
  Placement(std::span<const Tensor> tensors, int element_bytes, int servers);
  int servers() const { return static_cast<int>(shards_.size()); }
  const std::vector<VariableShard>& shards(int server) const {
    return shards_[static_cast<std::size_t>(server)];
  }
  std::int64_t elements(int server) const;
  void pack(Region flat, int server, std::span<std::byte> packed) const;
  void unpack(std::span<const std::byte> packed, int server, Region flat) const;

 private:
  std::vector<std::vector<VariableShard>> shards_;
};

/// A worker's interface to the servers. Thread safety: one thread.
class SharedVariables {
 public:
  virtual ~SharedVariables() = default;
  /// The variables as they are now, and the moving statistics.
  virtual void read(Region values, Region statistics) = 0;
  /// Applies gradients of the variables read last, and adds the change of the statistics. Returns
  /// the number of updates by others in between, on the server with the most.
  virtual std::int64_t update(Region gradients, Region moves) = 0;
};

/// Given the result of the last closure, or null at first: the next one, or nothing.
using NextClosure = std::function<std::optional<std::int64_t>(const ClosureResult*)>;

/// Carries out closures until there is none. Throws as its arguments do, and TransportError where
/// the threads of its replicas cannot be started.
void work_asynchronously(const TrainingPlan& plan, const Dataset& data, SharedVariables& variables,
                         const NextClosure& next);

}  // namespace collbench
