#include "training/model.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/random.h"
#include "core/suggest.h"

namespace collbench {
namespace {

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

/// Appends a convolution with its normalisation, and ReLU if `relu`.
void add_normalised(Model& model, int filters, int stride, bool relu) {
  model.layers.push_back({LayerKind::conv3x3, filters, stride, 1, false});
  model.layers.push_back({LayerKind::batch_norm});
  if (relu) model.layers.push_back({LayerKind::relu});
}

/// 6 n + 2 layers for images of CIFAR-10. Source: He et al. 2015, "Deep residual learning for
/// image recognition", section 4.2, with shortcuts of option A.
Model residual_network(const std::string& name, int n) {
  Model model{name, {32, 32, 3}, {}, 10, "sgd", 0.1};
  add_normalised(model, 16, 1, true);
  for (const int filters : {16, 32, 64}) {
    for (int block = 0; block < n; ++block) {
      const int before = static_cast<int>(model.layers.size()) - 1;
      add_normalised(model, filters, filters > 16 && block == 0 ? 2 : 1, true);
      add_normalised(model, filters, 1, false);
      model.layers.push_back({LayerKind::add, 0, 1, 0, true, before});
      model.layers.push_back({LayerKind::relu});
    }
  }
  model.layers.push_back({LayerKind::global_average_pool});
  model.layers.push_back({LayerKind::dense, 10});
  return model;
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

/// Names as Keras gives them: "dense", "dense_1".
class LayerNames {
 public:
  std::string next(LayerKind kind) {
    const char* word = kind == LayerKind::dense     ? "dense"
                       : kind == LayerKind::conv3x3 ? "conv2d"
                                                    : "batch_normalization";
    const int number = seen_[kind]++;
    return number == 0 ? word : fmt::format("{}_{}", word, number);
  }

 private:
  std::map<LayerKind, int> seen_;
};

/// One after the other.
void place(std::vector<Tensor>& tensors) {
  std::int64_t first = 0;
  for (Tensor& tensor : tensors) {
    tensor.first = first;
    first += tensor.count;
  }
}

}  // namespace

std::string to_string(const SampleShape& shape) {
  return fmt::format("{}x{}x{}", shape.height, shape.width, shape.channels);
}

Model make_model(const std::string& name, const std::vector<int>& widths) {
  if (name == "mlp") return mlp(widths);
  require(widths.empty(), fmt::format("{}: only mlp takes widths of hidden layers", name));
  if (name == "mnist-cnn") return mnist_cnn();
  if (name == "resnet56") return residual_network(name, 9);
  if (name == "resnet20") return residual_network(name, 3);
  if (name == "dense2") return {name, {1, 1, 10}, {{LayerKind::dense, 2}}, 2, "sgd", 0.1};
  throw InvalidArgument(
      unknown_name("model", name, {"mlp", "mnist-cnn", "resnet56", "resnet20", "dense2"}));
}

SampleShape output_of(const LayerSpec& layer, const SampleShape& in) {
  switch (layer.kind) {
    case LayerKind::dense:
      require(in.height == 1 && in.width == 1,
              fmt::format("a dense layer takes a flat vector, not {}", to_string(in)));
      return {1, 1, layer.units};
    case LayerKind::conv3x3: {
      const int border = 2 * layer.padding;
      require(in.height + border >= 3 && in.width + border >= 3,
              fmt::format("a 3x3 convolution takes at least 3x3 pixels, not {}", to_string(in)));
      return {(in.height + border - 3) / layer.stride + 1,
              (in.width + border - 3) / layer.stride + 1, layer.units};
    }
    case LayerKind::max_pool2x2:
      require(in.height >= 2 && in.width >= 2,
              fmt::format("2x2 pooling takes at least 2x2 pixels, not {}", to_string(in)));
      return {in.height / 2, in.width / 2, in.channels};
    case LayerKind::flatten:
      return {1, 1, static_cast<int>(in.size())};
    case LayerKind::global_average_pool:
      return {1, 1, in.channels};
    case LayerKind::relu:
    case LayerKind::batch_norm:
    case LayerKind::add:
      break;
  }
  return in;
}

std::vector<SampleShape> shapes_of(const Model& model) {
  std::vector<SampleShape> shapes{model.input};
  int last_shortcut = -1;  // where the one before ends
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const SampleShape out = output_of(layer, shapes.back());
    if (layer.kind == LayerKind::add) {
      const int from = layer.from;
      require(from > last_shortcut && from < static_cast<int>(i) - 1,
              fmt::format("layer {} cannot add the outcome of layer {}", i, from));
      last_shortcut = static_cast<int>(i);
      const SampleShape& source = shapes[static_cast<std::size_t>(from) + 1];
      const SampleShape half{(source.height + 1) / 2, (source.width + 1) / 2, out.channels};
      require(source.channels <= out.channels &&
                  (half == out || (source.height == out.height && source.width == out.width)),
              fmt::format("layer {} cannot add {} to {}", i, to_string(source), to_string(out)));
    }
    shapes.push_back(out);
  }
  require(shapes.back() == SampleShape{1, 1, model.classes},
          fmt::format("model {} ends in {} values, not in {} classes", model.name,
                      to_string(shapes.back()), model.classes));
  return shapes;
}

std::vector<Tensor> tensors_of(const Model& model) {
  std::vector<Tensor> tensors;
  LayerNames names;
  const std::vector<SampleShape> shapes = shapes_of(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const LayerSpec& layer = model.layers[i];
    const SampleShape& in = shapes[i];
    const int number = static_cast<int>(i);
    if (layer.kind == LayerKind::batch_norm) {
      const std::string name = names.next(layer.kind);
      tensors.push_back({name + "/gamma", number, 0, in.channels, 0, 1});
      tensors.push_back({name + "/beta", number, 0, in.channels});
    }
    const Fans fans = fans_of(layer, in);
    if (fans.in == 0) continue;
    const std::string name = names.next(layer.kind);
    const auto inputs = static_cast<double>(fans.in);
    const double glorot = std::sqrt(6.0 / (inputs + static_cast<double>(fans.out)));
    const double limit = layer.bias ? glorot : std::sqrt(6.0 / inputs);
    tensors.push_back({name + "/kernel", number, 0, fans.in * layer.units, limit});
    if (layer.bias) tensors.push_back({name + "/bias", number, 0, layer.units});
  }
  std::reverse(tensors.begin(), tensors.end());
  place(tensors);
  return tensors;
}

std::vector<Tensor> statistics_of(const Model& model) {
  std::vector<Tensor> tensors;
  LayerNames names;
  const std::vector<SampleShape> shapes = shapes_of(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].kind != LayerKind::batch_norm) continue;
    const std::string name = names.next(LayerKind::batch_norm);
    const std::int64_t channels = shapes[i].channels;
    tensors.push_back({name + "/moving_mean", static_cast<int>(i), 0, channels});
    tensors.push_back({name + "/moving_variance", static_cast<int>(i), 0, channels, 0, 1});
  }
  place(tensors);
  return tensors;
}

std::int64_t elements_of(const std::vector<Tensor>& tensors) {
  return tensors.empty() ? 0 : tensors.back().first + tensors.back().count;
}

std::int64_t parameters_of(const Model& model) { return elements_of(tensors_of(model)); }

std::vector<double> initial_parameters(const Model& model, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(parameters_of(model)));
  for (const Tensor& tensor : tensors_of(model)) {
    const auto first = values.begin() + tensor.first;
    std::fill(first, first + tensor.count, tensor.start);
    if (tensor.limit == 0) continue;
    RandomEngine random = random_engine(seed, "weights", static_cast<std::uint64_t>(tensor.layer));
    for (std::int64_t i = 0; i < tensor.count; ++i) {
      values[static_cast<std::size_t>(tensor.first + i)] = tensor.limit * (2 * uniform(random) - 1);
    }
  }
  return values;
}

}  // namespace collbench
