#include "training/model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr ModelInfo rows[] = {
    {"mlp", "28x28 images, dense layers with ReLU of any widths, 10 classes"},
    {"mnist-cnn", "28x28 images, the tutorial's two convolutions and two dense layers, 10 classes"},
    {"dense2", "10 numbers, one dense layer with two outputs"},
};

constexpr SampleShape mnist_image{28, 28, 1};

Model mlp(const std::vector<int>& widths) {
  Model model{"mlp", mnist_image, {{LayerKind::flatten}}, 10, "sgd", 0.1};
  for (const int width : widths.empty() ? std::vector<int>{128} : widths) {
    require(width >= 1, fmt::format("mlp: a layer needs at least 1 unit, not {}", width));
    model.layers.push_back({LayerKind::dense, width});
    model.layers.push_back({LayerKind::relu});
  }
  model.layers.push_back({LayerKind::dense, 10});
  return model;
}

Model mnist_cnn() {
  return {"mnist-cnn",
          mnist_image,
          {{LayerKind::conv3x3, 32},
           {LayerKind::relu},
           {LayerKind::max_pool2x2},
           {LayerKind::conv3x3, 64},
           {LayerKind::relu},
           {LayerKind::flatten},
           {LayerKind::dense, 64},
           {LayerKind::relu},
           {LayerKind::dense, 10}},
          10,
          "adam",
          0.001};
}

/// Fan-in and fan-out of a layer's kernel; both 0 if it has none.
struct Fans {
  std::int64_t in = 0;
  std::int64_t out = 0;
};

Fans fans_of(const LayerSpec& layer, const SampleShape& in) {
  if (layer.kind == LayerKind::dense) return {in.size(), layer.units};
  if (layer.kind == LayerKind::conv3x3) return {9 * in.channels, std::int64_t{9} * layer.units};
  return {};
}

}  // namespace

std::string to_string(const SampleShape& shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

std::span<const ModelInfo> models() { return rows; }

Model make_model(const std::string& name, const std::vector<int>& widths) {
  if (name == "mlp") return mlp(widths);
  require(widths.empty(), fmt::format("{}: only mlp takes widths of hidden layers", name));
  if (name == "mnist-cnn") return mnist_cnn();
  if (name == "dense2") return {name, {1, 1, 10}, {{LayerKind::dense, 2}}, 2, "sgd", 0.1};
  std::vector<std::string> names;
  for (const ModelInfo& row : rows) names.emplace_back(row.name);
  throw InvalidArgument(fmt::format("unknown model '{}'.{} Models: {}", name,
                                    did_you_mean(name, names), fmt::join(names, ", ")));
}

SampleShape output_of(const LayerSpec& layer, const SampleShape& in) {
  switch (layer.kind) {
    case LayerKind::dense:
      require(in.height == 1 && in.width == 1,
              fmt::format("a dense layer takes a flat vector, not {}", to_string(in)));
      return {1, 1, layer.units};
    case LayerKind::conv3x3:
      require(in.height >= 3 && in.width >= 3,
              fmt::format("a 3x3 convolution takes at least 3x3 pixels, not {}", to_string(in)));
      return {in.height - 2, in.width - 2, layer.units};
    case LayerKind::max_pool2x2:
      require(in.height >= 2 && in.width >= 2,
              fmt::format("2x2 pooling takes at least 2x2 pixels, not {}", to_string(in)));
      return {in.height / 2, in.width / 2, in.channels};
    case LayerKind::flatten:
      return {1, 1, static_cast<int>(in.size())};
    case LayerKind::relu:
      break;
  }
  return in;
}

std::vector<Tensor> tensors_of(const Model& model) {
  std::vector<Tensor> tensors;
  std::map<LayerKind, int> seen;
  SampleShape shape = model.input;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const Fans fans = fans_of(layer, shape);
    shape = output_of(layer, shape);
    if (fans.in == 0) continue;
    const int number = seen[layer.kind]++;
    const std::string kind = layer.kind == LayerKind::dense ? "dense" : "conv2d";
    const std::string name = number == 0 ? kind : fmt::format("{}_{}", kind, number);
    const double limit = std::sqrt(6.0 / static_cast<double>(fans.in + fans.out));
    tensors.push_back({name + "/kernel", static_cast<int>(i), 0, fans.in * layer.units, limit});
    tensors.push_back({name + "/bias", static_cast<int>(i), 0, layer.units, 0});
  }
  std::reverse(tensors.begin(), tensors.end());
  std::int64_t first = 0;
  for (Tensor& tensor : tensors) {
    tensor.first = first;
    first += tensor.count;
  }
  return tensors;
}

std::int64_t parameters_of(const Model& model) {
  const std::vector<Tensor> tensors = tensors_of(model);
  return tensors.empty() ? 0 : tensors.back().first + tensors.back().count;
}

std::vector<double> initial_parameters(const Model& model, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(parameters_of(model)));
  for (const Tensor& tensor : tensors_of(model)) {
    if (tensor.limit == 0) continue;
    RandomEngine random = random_engine(seed, "weights", static_cast<std::uint64_t>(tensor.layer));
    for (std::int64_t i = 0; i < tensor.count; ++i) {
      const double unit = static_cast<double>(random() >> 11) * 0x1p-53;  // in [0, 1)
      values[static_cast<std::size_t>(tensor.first + i)] = tensor.limit * (2 * unit - 1);
    }
  }
  return values;
}

}  // namespace collbench
