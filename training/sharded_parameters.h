// The parameters and gradients of one replica whose ranks divide them (state_sharding.h): which
// collectives run when, and what memory is given back.
//
// Vectors are flat and whole in address space; with `full`, pages that hold nothing are returned to
// the system, and the shares lie apart. All ranks must make the same calls in the same order.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <span>
#include <utility>
#include <vector>

#include "training/bucket_reducer.h"
#include "training/held_pages.h"
#include "training/parameter_window.h"
#include "training/state_sharding.h"
#include "training/step.h"

namespace collbench {

/// The flat vectors of a replica, whole and of one type.
struct ReplicaVectors {
  Region parameters;
  Region gradients;
  /// A hash of parameters first..first+count-1; empty: gathered parameters are not compared.
  std::function<std::uint64_t(std::int64_t first, std::int64_t count)> fingerprint;
};

/// Thread safety: one thread; collectives run on that of the reducer.
class ShardedParameters final : public GradientSum {
 public:
  /// The buckets are those of `reducer`, which must give ranks their shares (WireRule::shares).
  /// Parameters are whole at first. `overlap`: parameters are gathered ahead of their use.
  ShardedParameters(StateSharding sharding, ReplicaVectors vectors, std::span<const Tensor> tensors,
                    Communicator& communicator, BucketReducer& reducer, bool overlap);

  void start_up_to(std::int64_t end) override { reducer_.start_up_to(end); }
  Spent wait() override { return reducer_.wait(); }
  Seconds waited() override { return std::exchange(waited_, Seconds{0}); }
  Spent publish() override { return reducer_.wait(); }

  /// Frames a pass; what a pass reads is announced by need(), in flat order or its reverse.
  void begin(StepPass pass);
  void need(std::int64_t first, std::int64_t end) { window_.need(first, end); }
  void end();
  /// Plays this rank's part in the collectives of a pass that it has no samples for. `ready` as in
  /// a backward pass; empty for a forward pass.
  void pass_over(const GradientsReady& ready);

  /// apply(bucket, parameters, gradients) for this rank's share of each bucket, which may be empty;
  /// then starts to give the others what changed.
  void update(const std::function<void(std::size_t, Region, Region)>& apply);

  /// Makes the parameters whole on every rank; collective.
  void gather_all();
  /// Keeps the shares of whole parameters, outside of a pass.
  void keep_shares();

  /// Of all parameters that the last forward pass gathered; equal on all ranks.
  std::uint64_t digest() const { return digest_; }
  /// What the vectors took at most since note_memory() was called; without the optimizer.
  TrainingMemory memory() const;
  void note_memory(bool wanted) { notes_ = wanted; }

 private:
  bool full() const { return sharding_ == StateSharding::full; }
  Region share(Region vector, std::size_t bucket) const;
  Region kept(std::vector<std::byte>& shares, std::size_t bucket) const;
  void gather_in_place(Region vector, std::size_t bucket);
  void bring(std::size_t bucket);
  void receive(std::size_t bucket);
  void give_up(std::size_t bucket);
  void keep_sum(std::size_t bucket);

  StateSharding sharding_;
  ReplicaVectors vectors_;
  std::vector<Elements> layers_;
  Communicator& communicator_;
  BucketReducer& reducer_;
  std::vector<Bucket> buckets_;
  std::vector<Elements> shares_;      // of this rank, of each bucket
  std::vector<std::int64_t> places_;  // of full: where each share begins in the two below
  std::vector<std::byte> parameters_;
  std::vector<std::byte> gradients_;
  std::vector<std::shared_future<void>> gathering_;  // of each bucket
  ParameterWindow window_;
  HeldPages parameter_pages_;
  HeldPages gradient_pages_;
  std::vector<bool> written_;  // of each bucket: its gradients in this backward pass
  StepPass pass_ = StepPass::none;
  Seconds waited_{0};
  std::uint64_t digest_ = 0;  // written by the thread that communicates, as what follows
  bool digests_ = false;
  bool notes_ = false;
  Bytes most_gathered_;
  Bytes most_unsummed_;
};

}  // namespace collbench
