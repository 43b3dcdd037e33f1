// The engine on GPUs: convolutions by cuDNN, matrix products by cuBLAS, the rest by kernels of our
// own; each replica on its device and with streams of its own.
//
// The backward pass is enqueued as a whole, gradients of kernels beside those of values; then the
// host follows its events and reports gradients ready, so that their all-reduce runs on other
// streams while the pass goes on.
#include <algorithm>
#include <cassert>
#include <map>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/engine.h"
#include "training/engines/flat_optimizer.h"
#include "training/engines/gpu_array.h"
#include "training/engines/gpu_graphs.h"
#include "training/engines/gpu_kernels.h"
#include "training/engines/gpu_lanes.h"
#include "training/engines/gpu_layers.h"
#include "training/engines/stage_chain.h"
#include "transports/cuda/cuda_communicator.h"
#include "transports/cuda/cuda_error.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/placed_communicator.h"
#include "transports/cuda/places.h"
#include "transports/nccl/group.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

// Of the threads that make_world() has given a device; a network on another thread would be used by
// code that takes its memory for the host's.
thread_local bool on_a_device = false;

// Small host memory that the device reads and writes in place.
template <class T>
class SharedArray {
 public:
  explicit SharedArray(std::int64_t count)
      : count_(count),
        memory_(allocate_for_cuda(Bytes{count * static_cast<std::int64_t>(sizeof(T))})) {}
  T* data() const { return reinterpret_cast<T*>(memory_.get()); }
  std::int64_t size() const { return count_; }

 private:
  std::int64_t count_;
  std::shared_ptr<std::byte> memory_;
};

std::int64_t largest_rows(const std::vector<Stage>& stages, std::int64_t samples) {
  std::int64_t most = samples;
  for (const Stage& stage : stages) {
    most = std::max(most, samples * stage.out.height * stage.out.width);
  }
  return most;
}

Bytes floats(std::int64_t count) { return {count * static_cast<std::int64_t>(sizeof(float))}; }

// cuDNN has no fast kernels for weights that do not lie on such multiples.
constexpr std::int64_t most_padding = 63;

/// The elements of turned kernels, each on a multiple of 256 bytes.
std::int64_t turned_end(const std::vector<TurnedKernel>& kernels) {
  if (kernels.empty()) return 0;
  const TurnedKernel& last = kernels.back();
  return (last.to + last.depth * last.units + most_padding) / (most_padding + 1) *
         (most_padding + 1);
}

class GpuNetwork final : public Network {
 public:
  GpuNetwork(const Model& model, std::int64_t samples)
      : samples_(samples),
        classes_(model.classes),
        input_(model.input.size()),
        lanes_(largest_rows(stages_of(model, true), samples)),
        stream_(lanes_.chain().stream()),
        parameters_(parameters_of(model)),
        turned_(parameters_.size() + most_padding * std::ssize(model.layers)),
        gradients_(parameters_of(model)),
        statistics_(elements_of(statistics_of(model))),
        images_(samples * input_),
        labels_(samples),
        losses_(samples),
        correct_(samples),
        scale_(1),
        hash_(1),
        chain_(
            model, samples, true, {parameters_.data(), gradients_.data(), statistics_.data()},
            [this](const Stage& stage, LayerMemory<float> memory) {
              return make_gpu_layer(stage, memory, turned_kernel(stage, memory), lanes_);
            },
            slope_work()),
        turned_kernels_(std::ssize(kernels_)) {
    const Bytes size{std::ssize(kernels_) * static_cast<std::int64_t>(sizeof(TurnedKernel))};
    copy_with_cuda(reinterpret_cast<std::byte*>(turned_kernels_.data()),
                   reinterpret_cast<const std::byte*>(kernels_.data()), size);
  }
  ~GpuNetwork() override { cudaStreamSynchronize(stream_); }
  GpuNetwork(const GpuNetwork&) = delete;
  GpuNetwork& operator=(const GpuNetwork&) = delete;

  Region parameters() override { return region(parameters_.data(), parameters_.size()); }
  Region gradients() override { return region(gradients_.data(), gradients_.size()); }
  Region statistics() override { return region(statistics_.data(), statistics_.size()); }
  void clear_gradients() override {
    check_cuda(
        cudaMemset(gradients_.data(), 0, static_cast<std::size_t>(floats(gradients_.size()).count)),
        "cudaMemset");
    check_cuda(cudaStreamSynchronize(nullptr), "cudaMemset");
  }

  Score forward(const Batch& batch) override { return run(batch, true); }
  Score evaluate(const Batch& batch) override { return run(batch, false); }

  void backward(double scale, const GradientsReady& ready) override {
    *scale_.data() = static_cast<float>(scale);
    GpuPassGraph& graph = graph_of(backward_graphs_, batch_);
    graph.run([this](const GpuPassGraph::Mark& mark) { enqueue_backward(mark); });
    graph.follow(ready);
  }

  Bytes memory_of(Region vector) const override { return vector.size(); }
  void set_parameters(std::span<const double> values) override {
    set_gpu_values(values, parameters_);
  }
  std::vector<double> copy_of_parameters() const override { return gpu_values(parameters_); }
  std::uint64_t fingerprint(std::int64_t first, std::int64_t count) const override {
    gpu_hash(parameters_.data() + first, count, hash_.data(), stream_);
    unsigned long long hash = 0;
    check_cuda(cudaMemcpyAsync(&hash, hash_.data(), sizeof hash, cudaMemcpyDeviceToHost, stream_),
               "cudaMemcpyAsync");
    synchronize("the fingerprint");
    return hash;
  }

 private:
  using Graphs = std::map<std::int64_t, std::unique_ptr<GpuPassGraph>>;  // by samples

  static Region region(float* data, std::int64_t count) {
    return {reinterpret_cast<std::byte*>(data), count, DataType::f32};
  }
  void synchronize(const char* what) const { check_cuda(cudaStreamSynchronize(stream_), what); }

  /// Where the stage's kernel lies turned; null without one. Adds it to those that are turned.
  const float* turned_kernel(const Stage& stage, const LayerMemory<float>& memory) {
    if (stage.spec.kind != LayerKind::conv3x3) return nullptr;
    const std::int64_t first =
        memory.parameters - parameters_.data() + (stage.spec.bias ? stage.spec.units : 0);
    const std::int64_t to = turned_end(kernels_);
    kernels_.push_back({first, to, std::int64_t{9} * stage.in.channels, stage.spec.units});
    return turned_.data() + to;
  }

  SlopeWork<float> slope_work() {
    const auto add = [this](const float* from, float* to, std::int64_t count) {
      gpu_add(from, to, count, stream_);
    };
    const auto spread = [this](const Stage& stage, const float* slope, float* to,
                               std::int64_t samples) {
      gpu_shortcut_slope(slope, to, stage.out, stage.shortcut_shape, samples, stream_);
    };
    return {add, spread, [this](const float* memory) { lanes_.wait_to_write(memory); }};
  }

  GpuPassGraph& graph_of(Graphs& all, std::int64_t samples) const {
    std::unique_ptr<GpuPassGraph>& found = all[samples];
    if (!found) found = std::make_unique<GpuPassGraph>(stream_);
    return *found;
  }

  Score run(const Batch& batch, bool training) {
    batch_ = std::ssize(batch.labels);
    assert(batch_ <= samples_);
    std::copy(batch.images.begin(), batch.images.end(), images_.data());
    std::copy(batch.labels.begin(), batch.labels.end(), labels_.data());
    graph_of(training ? forward_graphs_ : evaluation_graphs_, batch_)
        .run([this, training](const GpuPassGraph::Mark&) { enqueue_forward(training); });
    synchronize("the forward pass");
    Score score;
    for (std::int64_t i = 0; i < batch_; ++i) {
      score.loss += static_cast<double>(losses_.data()[i]);
      score.correct += correct_.data()[i];
    }
    return score;
  }

  void enqueue_forward(bool training) {
    const auto bytes = static_cast<std::size_t>(floats(batch_ * input_).count);
    check_cuda(cudaMemcpyAsync(chain_.in(), images_.data(), bytes, cudaMemcpyHostToDevice, stream_),
               "cudaMemcpyAsync");
    gpu_turn_kernels(parameters_.data(), turned_.data(), turned_kernels_, turned_end(kernels_),
                     stream_);
    chain_.forward(batch_, training);
    gpu_softmax(chain_.out(), labels_.data(), losses_.data(), correct_.data(), batch_, classes_,
                stream_);
  }

  void enqueue_backward(const GpuPassGraph::Mark& mark) {
    gpu_softmax_slope(chain_.out(), labels_.data(), scale_.data(), batch_, classes_, stream_);
    chain_.backward(batch_, [&](std::int64_t end) {
      lanes_.fork();
      mark(end, lanes_.beside().stream());
    });
    lanes_.join();
  }

  std::int64_t samples_;
  std::int64_t classes_;
  std::int64_t batch_ = 0;  // samples of the last pass
  std::int64_t input_;      // values of a sample
  GpuLanes lanes_;
  CUstream_st* stream_;  // of the chain
  GpuArray<float> parameters_;
  GpuArray<float> turned_;  // kernels
  GpuArray<float> gradients_;
  SharedArray<float> statistics_;  // the loop averages them over the replicas
  SharedArray<float> images_;
  SharedArray<int> labels_;
  SharedArray<float> losses_;
  SharedArray<int> correct_;
  SharedArray<float> scale_;
  GpuArray<unsigned long long> hash_;
  std::vector<TurnedKernel> kernels_;
  StageChain<float, GpuArray<float>> chain_;
  GpuArray<TurnedKernel> turned_kernels_;
  Graphs forward_graphs_;
  Graphs evaluation_graphs_;
  Graphs backward_graphs_;
};

std::unique_ptr<Network> make_network(const Model& model, std::int64_t samples, DataType type) {
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine cudnn computes in f32, not {}", to_string(type)));
  }
  if (!on_a_device) {
    throw Unavailable("engine cudnn trains with strategy mirrored only, replicas being threads");
  }
  return std::make_unique<GpuNetwork>(model, samples);
}

void finish_update() { check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "the optimizer"); }

struct GpuMemory {
  using Element = float;
  using Array = GpuArray<float>;

  static void sgd(float rate, float momentum, const float* slope, float* velocity, float* weights,
                  std::int64_t count) {
    gpu_sgd(rate, momentum, slope, velocity, weights, count, cudaStreamPerThread);
    finish_update();
  }
  static void adam(const AdamRates<float>& rates, const float* slope, float* mean, float* square,
                   float* weights, std::int64_t count) {
    gpu_adam(rates, slope, mean, square, weights, count, cudaStreamPerThread);
    finish_update();
  }
  static std::vector<double> values(const Array& array) { return gpu_values(array); }
  static void restore(const std::vector<double>& from, const Array& to) {
    set_gpu_values(from, to);
  }
};

std::unique_ptr<Optimizer> make_gpu_optimizer(const OptimizerSpec& spec, std::int64_t count,
                                              DataType type) {
  check(spec);
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine cudnn updates f32, not {}", to_string(type)));
  }
  return std::make_unique<FlatOptimizer<GpuMemory>>(spec, count);
}

// NCCL sums gradients on a stream of its own; everything else that replicas exchange is in host
// memory, and is reduced by the host.
void join_by_nccl(EngineWorld& world, int replicas, const std::string& spec, Seconds timeout) {
  require(!parse_nccl_settings(spec).registered,
          "nccl:register needs memory of NCCL's own, and networks have theirs; leave it out");
  const auto group = std::make_shared<NcclGroup>(replicas, spec, timeout);
  world.join = [group](Rank rank, std::unique_ptr<Communicator> host) {
    return make_placed_communicator(group->join(rank), std::move(host), is_on_cuda);
  };
  world.abort = [group](const std::string&) { group->abort(); };
}

EngineWorld make_world(int replicas, const ScheduleChoice& schedule, const std::string& name,
                       Seconds timeout) {
  if (const std::string why = why_no_gpu_math(); !why.empty()) throw Unavailable(why);
  CudaWorldOptions options;
  options.timeout = timeout;
  const auto count = static_cast<int>(find_cuda_devices().devices.size());
  options.devices = place_on_cuda(parse_cuda_devices("", count), replicas);
  EngineWorld world;
  world.enter = [devices = options.devices](Rank rank) {
    use_cuda_device(devices[static_cast<std::size_t>(rank)]);
    on_a_device = true;
  };
  if (const Backend* library = black_box(name); library != nullptr && library->on_gpus) {
    join_by_nccl(world, replicas, name, options.timeout);
    return world;
  }
  const auto group = std::make_shared<CudaGroup>(options, PlayedSchedules{schedule}, name);
  world.join = [group](Rank rank, std::unique_ptr<Communicator> /*host*/) {
    return make_cuda_communicator(group, rank);
  };
  world.abort = [group](const std::string& why) { group->abort(why); };
  return world;
}

constexpr ComputeEngine cudnn_engines[] = {
    {"cudnn", "cuDNN and cuBLAS on GPUs in f32, a replica on each or several on one",
     [](DataType) { return false; },  // only where it is named: auto stays on the CPU
     make_network, make_gpu_optimizer, make_world, why_no_gpu_math}};

}  // namespace

std::span<const ComputeEngine> cudnn_rows() { return cudnn_engines; }

}  // namespace collbench
