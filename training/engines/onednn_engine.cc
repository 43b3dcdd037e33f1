// The engine over Intel's oneDNN: convolutions and matrix products are its own, the rest is that
// of fast_layers.h and, where a stage is rare, of the plain engine.
#include <algorithm>
#include <cassert>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/aligned_array.h"
#include "training/engines/engine.h"
#include "training/engines/fast_layers.h"
#include "training/engines/layer_kernels.h"
#include "training/engines/onednn_functions.inc"
#include "training/engines/plain_layers.h"

namespace collbench {
namespace {

/// What the primitives of one network share. Thread safety: one thread.
class OnednnContext {
 public:
  const dnnl::engine& engine() const { return engine_; }

  /// With memory for all the scratch that any primitive so far asked for.
  void execute(const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory>& arguments,
               const dnnl::memory::desc& scratch) {
    const auto bytes = static_cast<std::int64_t>(scratch.get_size());
    if (bytes > scratch_.size()) scratch_ = AlignedArray<std::byte>(bytes);
    if (bytes > 0) {
      dnnl::memory& memory = arguments.at(DNNL_ARG_SCRATCHPAD);
      if (memory.get_data_handle() != scratch_.data()) memory.set_data_handle(scratch_.data());
    }
    primitive.execute(stream_, arguments);
  }

 private:
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  AlignedArray<std::byte> scratch_;
};

using DnnlMemory = dnnl::memory;
using Tag = DnnlMemory::format_tag;

DnnlMemory::desc describe(const DnnlMemory::dims& dims, Tag tag) {
  return {dims, DnnlMemory::data_type::f32, tag};
}

/// A primitive with its arguments, of which the values' addresses are set before each use.
class PrimitiveStep {
 public:
  PrimitiveStep() = default;
  PrimitiveStep(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& description,
                const dnnl::engine& engine, std::unordered_map<int, DnnlMemory> arguments)
      : primitive_(primitive),
        scratch_(description.scratchpad_desc()),
        arguments_(std::move(arguments)) {
    if (scratch_.get_size() > 0) {
      arguments_[DNNL_ARG_SCRATCHPAD] = DnnlMemory(scratch_, engine, DNNL_MEMORY_NONE);
    }
  }
  explicit operator bool() const { return static_cast<bool>(primitive_); }
  void at(int argument, const float* data) {
    arguments_.at(argument).set_data_handle(const_cast<float*>(data));
  }
  void run(OnednnContext& context) { context.execute(primitive_, arguments_, scratch_); }

 private:
  dnnl::primitive primitive_;
  DnnlMemory::desc scratch_;
  std::unordered_map<int, DnnlMemory> arguments_;
};

dnnl::primitive_attr with_own_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

PrimitiveStep reorder(const dnnl::engine& engine, const DnnlMemory& from, const DnnlMemory& to) {
  const dnnl::reorder::primitive_desc description(engine, from.get_desc(), engine, to.get_desc(),
                                                  with_own_scratch());
  return {
      dnnl::reorder(description), description, engine, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

/// The steps of a convolution for one number of samples.
struct Steps {
  dnnl::convolution_forward::primitive_desc description;
  PrimitiveStep kernel_for_forward;
  PrimitiveStep forward;
  PrimitiveStep weights;
  PrimitiveStep gradient_from_weights;
  PrimitiveStep kernel_for_data;
  PrimitiveStep data;  // made when it is first needed: never in the first layer
};

class OnednnConvolution final : public Layer<float> {
 public:
  OnednnConvolution(const Stage& stage, LayerMemory<float> memory,
                    std::shared_ptr<OnednnContext> context)
      : stage_(stage), memory_(memory), context_(std::move(context)) {}

  void forward(const LayerPass<float>& pass) override {
    Steps& steps = steps_for(pass.samples);
    steps.kernel_for_forward.run(*context_);
    steps.forward.at(DNNL_ARG_SRC, pass.in);
    steps.forward.at(DNNL_ARG_DST, pass.out);
    steps.forward.run(*context_);
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    if (stage_.relu) layer_kernels().mask(pass.out, slope, pass.samples * stage_.out.size());
    Steps& steps = steps_for(pass.samples);
    if (!steps.weights) make_weights(steps, pass.samples);
    steps.weights.at(DNNL_ARG_SRC, pass.in);
    steps.weights.at(DNNL_ARG_DIFF_DST, slope);
    steps.weights.run(*context_);
    steps.gradient_from_weights.run(*context_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    Steps& steps = steps_for(pass.samples);
    if (!steps.data) make_data(steps, pass.samples);
    steps.kernel_for_data.run(*context_);
    steps.data.at(DNNL_ARG_DIFF_DST, slope);
    steps.data.at(DNNL_ARG_DIFF_SRC, in_slope);
    steps.data.run(*context_);
  }

 private:
  const dnnl::engine& engine() const { return context_->engine(); }
  bool biased() const { return stage_.spec.bias; }
  DnnlMemory::dims strides() const { return {stage_.spec.stride, stage_.spec.stride}; }
  DnnlMemory::dims before() const { return {stage_.spec.padding, stage_.spec.padding}; }
  /// Rows and columns beyond the end that the last window covers; less than `before` with a stride.
  DnnlMemory::dims behind() const {
    const auto missing = [this](int in, int out) {
      return DnnlMemory::dim{(out - 1) * stage_.spec.stride + 3 - in - stage_.spec.padding};
    };
    return {missing(stage_.in.height, stage_.out.height),
            missing(stage_.in.width, stage_.out.width)};
  }
  DnnlMemory::desc values(const SampleShape& shape, std::int64_t samples) const {
    return describe({samples, shape.channels, shape.height, shape.width}, Tag::nhwc);
  }
  DnnlMemory::desc kernel(Tag tag) const {
    return describe({stage_.spec.units, stage_.in.channels, 3, 3}, tag);
  }
  /// Empty where there is none, which oneDNN takes for that.
  DnnlMemory::desc bias() const {
    return biased() ? describe({stage_.spec.units}, Tag::x) : DnnlMemory::desc();
  }
  DnnlMemory unset(const DnnlMemory::desc& description) const {
    return {description, engine(), DNNL_MEMORY_NONE};
  }
  /// The kernel or its gradient in the flat vector; the bias lies before it.
  DnnlMemory flat_kernel(float* memory) const {
    return {kernel(Tag::hwio), engine(), memory + (biased() ? stage_.spec.units : 0)};
  }

  Steps& steps_for(std::int64_t samples) {
    const auto found = steps_.find(samples);
    if (found != steps_.end()) return found->second;
    if (steps_.size() >= most_kept) steps_.clear();
    Steps& steps = steps_[samples];
    const DnnlMemory::desc in = values(stage_.in, samples);
    const DnnlMemory::desc out = values(stage_.out, samples);
    dnnl::primitive_attr attributes = with_own_scratch();
    if (stage_.relu) {
      dnnl::post_ops after;
      after.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(after);
    }
    using Forward = dnnl::convolution_forward;
    constexpr auto kind = dnnl::prop_kind::forward_training;
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    const Forward::desc wish(kind, direct, in, kernel(Tag::any), bias(), out, strides(), before(),
                             behind());
    steps.description = Forward::primitive_desc(wish, attributes, engine());
    const DnnlMemory packed(steps.description.weights_desc(), engine());
    steps.kernel_for_forward = reorder(engine(), flat_kernel(memory_.parameters), packed);
    std::unordered_map<int, DnnlMemory> arguments{
        {DNNL_ARG_SRC, unset(in)}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, unset(out)}};
    if (biased()) arguments[DNNL_ARG_BIAS] = DnnlMemory(bias(), engine(), memory_.parameters);
    steps.forward = {Forward(steps.description), steps.description, engine(), arguments};
    return steps;
  }

  void make_weights(Steps& steps, std::int64_t samples) {
    using Backward = dnnl::convolution_backward_weights;
    constexpr auto direct = dnnl::algorithm::convolution_direct;
    const DnnlMemory::desc in = values(stage_.in, samples);
    const DnnlMemory::desc out = values(stage_.out, samples);
    const Backward::desc wish(direct, in, kernel(Tag::any), bias(), out, strides(), before(),
                              behind());
    const Backward::primitive_desc description(wish, with_own_scratch(), engine(),
                                               steps.description);
    const DnnlMemory packed(description.diff_weights_desc(), engine());
    std::unordered_map<int, DnnlMemory> arguments{{DNNL_ARG_SRC, unset(in)},
                                                  {DNNL_ARG_DIFF_DST, unset(out)},
                                                  {DNNL_ARG_DIFF_WEIGHTS, packed}};
    if (biased()) arguments[DNNL_ARG_DIFF_BIAS] = DnnlMemory(bias(), engine(), memory_.gradients);
    steps.weights = {Backward(description), description, engine(), arguments};
    steps.gradient_from_weights = reorder(engine(), packed, flat_kernel(memory_.gradients));
  }

  void make_data(Steps& steps, std::int64_t samples) {
    using Backward = dnnl::convolution_backward_data;
    const DnnlMemory::desc in = values(stage_.in, samples);
    const DnnlMemory::desc out = values(stage_.out, samples);
    const Backward::primitive_desc description(
        {dnnl::algorithm::convolution_direct, in, kernel(Tag::any), out, strides(), before(),
         behind()},
        with_own_scratch(), engine(), steps.description);
    const DnnlMemory packed(description.weights_desc(), engine());
    steps.kernel_for_data = reorder(engine(), flat_kernel(memory_.parameters), packed);
    steps.data = {Backward(description),
                  description,
                  engine(),
                  {{DNNL_ARG_DIFF_SRC, unset(in)},
                   {DNNL_ARG_WEIGHTS, packed},
                   {DNNL_ARG_DIFF_DST, unset(out)}}};
  }

  static constexpr std::size_t most_kept = 8;
  Stage stage_;
  LayerMemory<float> memory_;
  std::shared_ptr<OnednnContext> context_;
  std::map<std::int64_t, Steps> steps_;  // by the number of samples: a last batch may be smaller
};

/// c (m x n) = op(a) op(b) + beta c, all row-major.
void product(char op_a, char op_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
             const float* b, float beta, float* c) {
  const std::int64_t row_a = op_a == 'N' ? k : m;
  const std::int64_t row_b = op_b == 'N' ? n : k;
  const dnnl::status status =
      dnnl::sgemm(op_a, op_b, m, n, k, 1.0F, a, row_a, b, row_b, beta, c, n);
  assert(status == dnnl::status::success);
  static_cast<void>(status);
}

class OnednnDense final : public Layer<float> {
 public:
  OnednnDense(const Stage& stage, LayerMemory<float> memory)
      : depth_(stage.in.size()), units_(stage.spec.units), relu_(stage.relu), memory_(memory) {}

  void forward(const LayerPass<float>& pass) override {
    for (std::int64_t i = 0; i < pass.samples; ++i) {
      std::copy_n(memory_.parameters, units_, pass.out + i * units_);
    }
    product('N', 'N', pass.samples, units_, depth_, pass.in, kernel(), 1, pass.out);
    if (relu_) layer_kernels().relu(pass.out, pass.samples * units_);
  }
  void backward_parameters(const LayerPass<float>& pass, float* slope) override {
    if (relu_) layer_kernels().mask(pass.out, slope, pass.samples * units_);
    layer_kernels().sum_rows(slope, memory_.gradients, pass.samples, units_);
    product('T', 'N', depth_, units_, pass.samples, pass.in, slope, 0, memory_.gradients + units_);
  }
  void backward_data(const LayerPass<float>& pass, const float* slope, float* in_slope) override {
    product('N', 'T', pass.samples, depth_, units_, slope, kernel(), 0, in_slope);
  }

 private:
  const float* kernel() const { return memory_.parameters + units_; }

  std::int64_t depth_;
  std::int64_t units_;
  bool relu_;
  LayerMemory<float> memory_;
};

/// Makes oneDNN's OpenMP library compute on the calling thread alone, because each replica has a
/// thread of its own. To be called on the thread that runs the network; cheap.
void use_one_onednn_thread() {
  // oneDNN was built with one OpenMP library or another, which is loaded with it.
  static const LibraryFunction<void(int)> set(onednn_library(), "omp_set_num_threads",
                                              Necessity::optional);
  if (set) set(1);
}

std::unique_ptr<Network> make_onednn_network(const Model& model, std::int64_t samples,
                                             DataType type) {
  if (type != DataType::f32) {
    throw Unavailable(fmt::format("engine onednn computes in f32, not {}", to_string(type)));
  }
  use_one_onednn_thread();
  return make_layered_network<float>(
      model, samples, true,
      [context = std::make_shared<OnednnContext>()](
          const Stage& stage, LayerMemory<float> memory) -> std::unique_ptr<Layer<float>> {
        if (stage.spec.kind == LayerKind::conv3x3) {
          return std::make_unique<OnednnConvolution>(stage, memory, context);
        }
        if (stage.spec.kind == LayerKind::dense) {
          return std::make_unique<OnednnDense>(stage, memory);
        }
        std::unique_ptr<Layer<float>> layer = make_fast_layer(stage, memory);
        return layer != nullptr ? std::move(layer) : make_plain_layer<float>(stage, memory);
      });
}

std::string why_no_onednn() {
  try {
    onednn_library();
    return "";
  } catch (const Unavailable& error) {
    return error.what();
  }
}

constexpr ComputeEngine onednn_engines[] = {
    {"onednn", "Intel's oneDNN on the CPU in f32, one thread for each replica",
     [](DataType type) { return type == DataType::f32; }, make_onednn_network, make_host_optimizer,
     nullptr, why_no_onednn}};

}  // namespace

std::span<const ComputeEngine> onednn_rows() { return onednn_engines; }

}  // namespace collbench
