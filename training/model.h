// Models as tables: a stack of layers over an image or a vector, that ends in class scores.
//
// Images are stored height, width, channels (as TensorFlow does), so that flattening moves nothing.
// The parameters of a model are one flat vector, its tensors in the order in which their gradients
// become ready: the last layer first, in each layer the bias before the kernel.
#pragma once

#include <cstdint>
#include <string>
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

/// max_pool2x2 has stride 2 and drops an odd last row. batch_norm has Keras's defaults: moving
/// averages keep 0.99, and 0.001 is added to a variance. add takes the outcome of an earlier layer
/// too; where that is larger, every second row and column of it, and where it has fewer channels,
/// zeros for the missing ones (He et al. 2015, "Deep residual learning", option A).
enum class LayerKind : std::uint8_t {
  dense,
  relu,
  conv3x3,
  max_pool2x2,
  flatten,
  batch_norm,
  add,
  global_average_pool
};

struct LayerSpec {
  LayerKind kind = LayerKind::dense;
  int units = 0;     // outputs of dense, filters of conv3x3
  int stride = 1;    // of conv3x3
  int padding = 0;   // of conv3x3: rows and columns of zeros at each side, 0 or 1
  bool bias = true;  // of conv3x3
  int from = -1;     // of add: the layer whose outcome is added
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

/// The model of that name. `widths` are the hidden layers of "mlp" (empty: one of 128) and must be
/// empty for the others. Throws InvalidArgument.
Model make_model(const std::string& name, const std::vector<int>& widths = {});

/// The output shape of a layer. Throws InvalidArgument if it cannot take `in`.
SampleShape output_of(const LayerSpec& layer, const SampleShape& in);
/// The input's shape, then the output shape of each layer. Throws InvalidArgument if the layers do
/// not fit each other, or do not end in the model's classes.
std::vector<SampleShape> shapes_of(const Model& model);

/// One tensor of parameters, and where it lies in the flat vector.
struct Tensor {
  std::string name;  // "dense_1/kernel": kinds are counted from the front, as Keras does
  int layer = 0;
  std::int64_t first = 0;
  std::int64_t count = 0;
  double limit = 0;  // initial values are uniform in [start - limit, start + limit]
  double start = 0;  // 1 for the factors of a batch normalisation
};
std::vector<Tensor> tensors_of(const Model& model);
std::int64_t parameters_of(const Model& model);

/// What inference needs beside the parameters: for each batch normalisation the moving means and
/// variances, in the order of the layers, in one flat vector of their own. Each replica moves its
/// own in training, and they are averaged when they are read (TensorFlow's ON_READ and MEAN).
std::vector<Tensor> statistics_of(const Model& model);
/// Elements of tensors that lie one behind the other, as those of a model do.
std::int64_t elements_of(const std::vector<Tensor>& tensors);

/// The flat vector at the start of training. Equal seeds give equal values, whatever the number
/// type and the number of replicas. Sources: Glorot and Bengio 2010, equation 16; for convolutions
/// without a bias, He et al. 2015, "Delving deep into rectifiers", equation 10.
std::vector<double> initial_parameters(const Model& model, std::uint64_t seed);

}  // namespace collbench
