#include "training/sharded_parameters.h"

#include <algorithm>
#include <utility>

#include "training/elements.h"
#include "transports/memory.h"

namespace collbench {
namespace {

const Collective all_gather{CollectiveKind::all_gather};

void release(Region region) { release_pages(region.data, region.size()); }
Bytes resident(Region region) { return resident_bytes(region.data, region.size()); }

}  // namespace

ShardedParameters::ShardedParameters(StateSharding sharding, ReplicaVectors vectors,
                                     std::span<const Tensor> tensors, Communicator& communicator,
                                     BucketReducer& reducer, bool overlap)
    : sharding_(sharding),
      vectors_(std::move(vectors)),
      layers_(layer_ranges(tensors)),
      communicator_(communicator),
      reducer_(reducer),
      buckets_(reducer.buckets()),
      gathering_(buckets_.size()),
      window_(buckets_, overlap,
              {[this](std::size_t bucket) {
                 parameter_pages_.hold({buckets_[bucket].first, buckets_[bucket].count});
                 bring(bucket);
               },
               [this](std::size_t bucket) { receive(bucket); },
               [this](std::size_t bucket) { give_up(bucket); }}),
      parameter_pages_(vectors_.parameters),
      gradient_pages_(vectors_.gradients),
      written_(buckets_.size(), false) {
  std::int64_t place = 0;
  for (const Bucket& bucket : buckets_) {
    shares_.push_back(share_of(bucket, communicator.rank(), communicator.ranks()));
    places_.push_back(place);
    place += shares_.back().count;
  }
  if (!full()) return;
  parameters_.resize(static_cast<std::size_t>(place * size_of(vectors_.parameters.type)));
  gradients_.resize(parameters_.size());
  reducer_.after_each([this](const Bucket& bucket) {
    const auto same = std::ranges::find(buckets_, bucket.first, &Bucket::first);
    keep_sum(static_cast<std::size_t>(same - buckets_.begin()));
  });
  keep_shares();
}

Region ShardedParameters::share(Region vector, std::size_t bucket) const {
  return vector.part(shares_[bucket].first, shares_[bucket].count);
}

Region ShardedParameters::kept(std::vector<std::byte>& shares, std::size_t bucket) const {
  const std::int64_t width = size_of(vectors_.parameters.type);
  return {shares.data() + places_[bucket] * width, shares_[bucket].count, vectors_.parameters.type};
}

void ShardedParameters::begin(StepPass pass) {
  if (!full()) return;
  if (pass == StepPass::forward) digest_ = 0;
  digests_ = pass == StepPass::forward && vectors_.fingerprint;
  pass_ = pass;
  if (pass == StepPass::backward) written_.assign(buckets_.size(), false);
  window_.begin(pass);
}

void ShardedParameters::end() {
  window_.end();
  pass_ = StepPass::none;
}

void ShardedParameters::receive(std::size_t bucket) {
  const Seconds before = communicator_.now();
  gathering_[bucket].get();
  waited_ += communicator_.now() - before;
  if (notes_) most_gathered_ = std::max(most_gathered_, resident(vectors_.parameters));
  if (pass_ != StepPass::backward || written_[bucket]) return;
  written_[bucket] = true;
  gradient_pages_.hold({buckets_[bucket].first, buckets_[bucket].count});
}

void ShardedParameters::give_up(std::size_t bucket) {
  gathering_[bucket].wait();
  parameter_pages_.release({buckets_[bucket].first, buckets_[bucket].count});
}

void ShardedParameters::pass_over(const GradientsReady& ready) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Elements& layer = ready ? layers_[i] : layers_[layers_.size() - 1 - i];
    need(layer.first, layer.first + layer.count);
    if (ready) ready(layer.first + layer.count);
  }
}

void ShardedParameters::bring(std::size_t bucket) {
  const auto task = [this, bucket, digests = digests_] {
    copy(kept(parameters_, bucket), share(vectors_.parameters, bucket));
    gather_in_place(vectors_.parameters, bucket);
    if (!digests) return;
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    digest_ =
        (digest_ ^ vectors_.fingerprint(buckets_[bucket].first, buckets_[bucket].count)) * odd;
  };
  gathering_[bucket] = reducer_.start(task);
}

void ShardedParameters::gather_in_place(Region vector, std::size_t bucket) {
  communicator_.perform(all_gather, share(vector, bucket),
                        vector.part(buckets_[bucket].first, buckets_[bucket].count), ReduceOp::sum);
}

void ShardedParameters::keep_sum(std::size_t bucket) {
  if (notes_) most_unsummed_ = std::max(most_unsummed_, resident(vectors_.gradients));
  copy(share(vectors_.gradients, bucket), kept(gradients_, bucket));
  gradient_pages_.release({buckets_[bucket].first, buckets_[bucket].count});
}

void ShardedParameters::update(const std::function<void(std::size_t, Region, Region)>& apply) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    if (full()) {
      apply(i, kept(parameters_, i), kept(gradients_, i));
      continue;
    }
    apply(i, share(vectors_.parameters, i), share(vectors_.gradients, i));
    reducer_.start([this, i] { gather_in_place(vectors_.parameters, i); });
  }
}

void ShardedParameters::gather_all() {
  if (!full()) return;
  for (std::size_t i = 0; i < buckets_.size(); ++i) bring(i);
  reducer_.wait();
}

void ShardedParameters::keep_shares() {
  if (!full()) return;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    copy(share(vectors_.parameters, i), kept(parameters_, i));
  }
  release(vectors_.parameters);
  release(vectors_.gradients);
}

TrainingMemory ShardedParameters::memory() const {
  TrainingMemory memory;
  if (full()) {
    memory.parameters = Bytes{std::ssize(parameters_)};
    memory.gradients = Bytes{std::ssize(gradients_)};
    memory.buffers = most_gathered_ + most_unsummed_;
  } else {
    memory.parameters = resident(vectors_.parameters);
    memory.gradients = resident(vectors_.gradients);
  }
  return memory;
}

}  // namespace collbench
