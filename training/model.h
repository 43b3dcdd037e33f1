// Models as tables: a stack of layers over an image or a vector, that ends in class scores.
//
// Images are stored height, width, channels (as TensorFlow does), so that flattening moves nothing.
// The parameters of a model are one flat vector, its tensors in the order in which their gradients
// become ready: the last layer first, in each layer the bias before the kernel.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// Size of one sample at some place of a model; a vector has height and width 1.
struct SampleShape {
  int height = 1;
  int width = 1;
  int channels = 1;
  std::int64_t size() const { return std::int64_t{height} * width * channels; }
  bool operator==(const SampleShape&) const = default;
};
std::string to_string(const SampleShape& shape);  // "28x28x1"

/// conv3x3 has stride 1 and no padding; max_pool2x2 has stride 2 and drops an odd last row.
enum class LayerKind : std::uint8_t { dense, relu, conv3x3, max_pool2x2, flatten };

struct LayerSpec {
  LayerKind kind = LayerKind::dense;
  int units = 0;  // outputs of dense, filters of conv3x3
};

/// A model and the optimizer with which its tutorial trains it.
struct Model {
  std::string name;
  SampleShape input;
  std::vector<LayerSpec> layers;
  int classes = 0;
  std::string optimizer;
  double learning_rate = 0;
};

/// One row of the list of models.
struct ModelInfo {
  std::string_view name;
  std::string_view summary;
};
std::span<const ModelInfo> models();

/// The model of that name. `widths` are the hidden layers of "mlp" (empty: one of 128) and must be
/// empty for the others. Throws InvalidArgument.
Model make_model(const std::string& name, const std::vector<int>& widths = {});

/// What a layer makes of `in`. Throws InvalidArgument if it cannot take that shape.
SampleShape output_of(const LayerSpec& layer, const SampleShape& in);

/// One tensor of parameters, and where it lies in the flat vector.
struct Tensor {
  std::string name;  // "dense_1/kernel": kinds are counted from the front, as Keras does
  int layer = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  double limit = 0;  // initial values are uniform in [-limit, limit] (Glorot); 0 for a bias
};
std::vector<Tensor> tensors_of(const Model& model);
std::int64_t parameters_of(const Model& model);

/// The flat vector at the start of training. Equal seeds give equal values, whatever the number
/// type and the number of replicas. Source: Glorot and Bengio 2010, equation 16.
std::vector<double> initial_parameters(const Model& model, std::uint64_t seed);

}  // namespace collbench
