#include "training/engines/onednn_convolution.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <dnnl.hpp>

#include "training/engines/aligned_array.h"
#include "training/engines/layer_kernels.h"

namespace collbench {

/// Thread safety: one thread.
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

std::shared_ptr<OnednnContext> make_onednn_context() { return std::make_shared<OnednnContext>(); }

namespace {

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

}  // namespace

std::unique_ptr<Layer<float>> make_onednn_convolution(const Stage& stage, LayerMemory<float> memory,
                                                      std::shared_ptr<OnednnContext> context) {
  return std::make_unique<OnednnConvolution>(stage, memory, std::move(context));
}

}  // namespace collbench
