#include "training/data/input_pipeline.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "core/random.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::string_view names[] = {"auto", "off", "file", "data"};  // by AutoShard

std::int64_t quotient_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

InputPipeline::InputPipeline(const Dataset& data, const InputOptions& options, int replicas,
                             int replica)
    : data_(data),
      options_(options),
      replicas_(replicas),
      replica_(replica),
      workers_(replicas / options.replicas),
      worker_(replica / options.replicas) {
  const std::int64_t batch = options.global_batch;
  require(
      replicas % options.replicas == 0,
      fmt::format("{} replicas are not those of workers with {} each", replicas, options.replicas));
  require(batch >= 1 && (batch <= data.size() || !options.drop_remainder),
          fmt::format("a global batch of {} does not fit {} samples: it is 1 to {}", batch,
                      data.size(), data.size()));
  choose_policy();
  count_steps();
}

void InputPipeline::choose_policy() {
  const auto files = std::ssize(data_.file_sizes);
  if (options_.sharding == AutoShard::automatic) {
    options_.sharding = files >= workers_ && files > 1 ? AutoShard::file : AutoShard::data;
  }
  if (options_.sharding != AutoShard::file) return;
  require(files > 0,
          fmt::format("FILE sharding needs samples that were read from files; {} were not. DATA "
                      "or OFF fit",
                      data_.description));
  require(files >= workers_,
          fmt::format("Could not apply FILE based sharding: The dataset does not have enough "
                      "file(s) for the required {} shards/workers. ({} has {}; DATA or OFF fit)",
                      workers_, data_.description, files));
}

std::string InputPipeline::division() const {
  const std::string name = to_string(options_.sharding);
  return options_.sharding == AutoShard::data
             ? name
             : fmt::format("{} among {}", name, counted(workers_, "worker"));
}

void InputPipeline::count_steps() {
  const std::int64_t batch = options_.global_batch;
  if (options_.sharding == AutoShard::data) {
    steps_ = options_.drop_remainder ? data_.size() / batch : quotient_up(data_.size(), batch);
    return;
  }
  // A pass goes on until no worker has samples left, as TensorFlow's does among several workers.
  const auto any_left = [&](std::int64_t step) {
    for (int w = 0; w < workers_; ++w) {
      if (count_of(w, step) > 0) return true;
    }
    return false;
  };
  while (any_left(steps_)) ++steps_;
  require(steps_ > 0, fmt::format("a global batch of {} does not fit the samples that any of {} "
                                  "workers has",
                                  batch, workers_));
}

std::int64_t InputPipeline::samples_of(int worker) const {
  if (options_.sharding == AutoShard::off) return data_.size();
  std::int64_t count = 0;
  for (auto file = static_cast<std::size_t>(worker); file < data_.file_sizes.size();
       file += static_cast<std::size_t>(workers_)) {
    count += data_.file_sizes[file];
  }
  return count;
}

std::int64_t InputPipeline::before(int worker, std::int64_t batch) const {
  const std::vector<std::int64_t> sizes =
      batch_sizes_for_worker(options_.global_batch, workers_, options_.replicas, worker);
  const auto cycle = static_cast<std::int64_t>(sizes.size());
  return batch / cycle * options_.global_batch +
         std::accumulate(sizes.begin(), sizes.begin() + batch % cycle, std::int64_t{0});
}

std::int64_t InputPipeline::taken(int worker, std::int64_t first, int count) const {
  const std::int64_t begin = before(worker, first);
  const std::int64_t whole = before(worker, first + count) - begin;
  const std::int64_t step = first / options_.replicas;
  const std::int64_t after_step = before(worker, (step + 1) * options_.replicas);
  if (options_.drop_remainder && samples_of(worker) < after_step) return 0;
  return std::clamp<std::int64_t>(samples_of(worker) - begin, 0, whole);
}

std::int64_t InputPipeline::largest() const {
  return quotient_up(options_.global_batch, replicas_);
}

StepSize InputPipeline::size_of_step(std::int64_t step) const {
  const std::int64_t in_pass = step % steps_;
  StepSize size;
  if (options_.sharding == AutoShard::data) {
    const std::int64_t left = data_.size() - in_pass * options_.global_batch;
    size.all = std::min(left, options_.global_batch);
    size.mine = data_slice(size.all, replicas_, replica_);
    return size;
  }
  for (int w = 0; w < workers_; ++w) size.all += count_of(w, in_pass);
  size.mine = taken(worker_, batch_of_step(in_pass), 1);
  return size;
}

void InputPipeline::make_order(std::int64_t pass) {
  pass_ = pass;
  order_.clear();
  std::string purpose = "order";
  if (options_.sharding == AutoShard::file) {
    std::int64_t first = 0;
    for (std::size_t file = 0; file < data_.file_sizes.size(); ++file) {
      const std::int64_t next = first + data_.file_sizes[file];
      if (static_cast<int>(file % static_cast<std::size_t>(workers_)) == worker_) {
        for (; first < next; ++first) order_.push_back(first);
      }
      first = next;
    }
  } else {
    order_.resize(static_cast<std::size_t>(data_.size()));
    std::iota(order_.begin(), order_.end(), 0);
  }
  if (options_.sharding != AutoShard::data) purpose += fmt::format(" of worker {}", worker_);
  // Fisher and Yates's shuffle, written out because that of the library is not fixed.
  RandomEngine random = random_engine(options_.seed, purpose, static_cast<std::uint64_t>(pass));
  for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random() % i]);
}

StepSize InputPipeline::read(std::int64_t step, std::vector<float>& images,
                             std::vector<int>& labels) {
  if (step / steps_ != pass_) make_order(step / steps_);
  const std::int64_t in_pass = step % steps_;
  const StepSize size = size_of_step(step);
  std::int64_t first = 0;
  if (options_.sharding == AutoShard::data) {
    const std::int64_t slice = quotient_up(size.all, replicas_);
    first = in_pass * options_.global_batch + replica_ * slice;
  } else {
    first = before(worker_, batch_of_step(in_pass));
  }
  const std::int64_t values = data_.shape.size();
  images.resize(static_cast<std::size_t>(size.mine * values));
  labels.resize(static_cast<std::size_t>(size.mine));
  for (std::int64_t i = 0; i < size.mine; ++i) {
    const std::int64_t sample = order_[static_cast<std::size_t>(first + i)];
    std::copy_n(data_.images.begin() + sample * values, values, images.begin() + i * values);
    labels[static_cast<std::size_t>(i)] = data_.labels[static_cast<std::size_t>(sample)];
  }
  return size;
}

AutoShard parse_auto_shard(const std::string& text) {
  return static_cast<AutoShard>(index_of("sharding", lower_case(text), names));
}

std::string to_string(AutoShard policy) {
  return std::string(names[static_cast<std::uint8_t>(policy)]);
}

std::vector<std::int64_t> batch_sizes_for_worker(std::int64_t global_batch, int workers,
                                                 int replicas_per_worker, int worker) {
  const int replicas = workers * replicas_per_worker;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(replicas), global_batch / replicas);
  for (std::int64_t i = 0; i < global_batch % replicas; ++i) ++sizes[static_cast<std::size_t>(i)];
  std::rotate(sizes.begin(), sizes.begin() + std::ptrdiff_t{worker} * replicas_per_worker,
              sizes.end());
  return sizes;
}

std::int64_t data_slice(std::int64_t batch, int replicas, int replica) {
  const std::int64_t slice = (batch + replicas - 1) / replicas;
  return std::clamp<std::int64_t>(batch - replica * slice, 0, slice);
}

std::int64_t per_replica_batch(std::int64_t global_batch, int replicas) {
  require(global_batch % replicas == 0,
          fmt::format("The `global_batch_size` {} is not divisible by `num_replicas_in_sync` {}",
                      global_batch, replicas));
  return global_batch / replicas;
}

}  // namespace collbench
