#include "training/engines/gpu_math.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

#include <cublas_v2.h>
#include <cudnn.h>
#include <fmt/format.h>

#include "core/error.h"
#include "training/engines/layer.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/shared_library.h"

namespace collbench {
namespace {

constexpr std::size_t most_workspace = std::size_t{256} << 20;
constexpr Bytes blas_workspace{32 << 20};

// The first of these names that can be loaded.
SharedLibrary load(std::initializer_list<const char*> names) {
  std::string why;
  for (const char* name : names) {
    try {
      return SharedLibrary(name);
    } catch (const Unavailable& error) {
      if (why.empty()) why = error.what();
    }
  }
  throw Unavailable(why + "; where a Python package has it, name its folder in LD_LIBRARY_PATH");
}

// The functions called here, with the types of the headers and the names of the libraries.
struct Functions {
  SharedLibrary dnn = load({"libcudnn.so.9"});
  SharedLibrary blas = load({"libcublas.so.13", "libcublas.so.12"});

  // The declared functions give types only: whatever names one as a value must link the library.
  template <class Pointer>
  static Pointer in(const SharedLibrary& library, const char* name) {
    Pointer found = nullptr;
    library.bind(found, name);
    return found;
  }
#define COLLBENCH_FIND(library, name) decltype(&::name) name = in<decltype(&::name)>(library, #name)
  COLLBENCH_FIND(dnn, cudnnGetErrorString);
  COLLBENCH_FIND(dnn, cudnnCreate);
  COLLBENCH_FIND(dnn, cudnnDestroy);
  COLLBENCH_FIND(dnn, cudnnSetStream);
  COLLBENCH_FIND(dnn, cudnnCreateTensorDescriptor);
  COLLBENCH_FIND(dnn, cudnnDestroyTensorDescriptor);
  COLLBENCH_FIND(dnn, cudnnSetTensor4dDescriptor);
  COLLBENCH_FIND(dnn, cudnnDeriveBNTensorDescriptor);
  COLLBENCH_FIND(dnn, cudnnCreateFilterDescriptor);
  COLLBENCH_FIND(dnn, cudnnDestroyFilterDescriptor);
  COLLBENCH_FIND(dnn, cudnnSetFilter4dDescriptor);
  COLLBENCH_FIND(dnn, cudnnCreateConvolutionDescriptor);
  COLLBENCH_FIND(dnn, cudnnDestroyConvolutionDescriptor);
  COLLBENCH_FIND(dnn, cudnnSetConvolution2dDescriptor);
  COLLBENCH_FIND(dnn, cudnnSetConvolutionMathType);
  COLLBENCH_FIND(dnn, cudnnGetConvolutionForwardAlgorithm_v7);
  COLLBENCH_FIND(dnn, cudnnGetConvolutionBackwardDataAlgorithm_v7);
  COLLBENCH_FIND(dnn, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  COLLBENCH_FIND(dnn, cudnnConvolutionForward);
  COLLBENCH_FIND(dnn, cudnnConvolutionBackwardData);
  COLLBENCH_FIND(dnn, cudnnConvolutionBackwardFilter);
  COLLBENCH_FIND(dnn, cudnnBatchNormalizationForwardTraining);
  COLLBENCH_FIND(dnn, cudnnBatchNormalizationForwardInference);
  COLLBENCH_FIND(dnn, cudnnBatchNormalizationBackward);
  COLLBENCH_FIND(blas, cublasGetStatusString);
  COLLBENCH_FIND(blas, cublasCreate_v2);
  COLLBENCH_FIND(blas, cublasDestroy_v2);
  COLLBENCH_FIND(blas, cublasSetStream_v2);
  COLLBENCH_FIND(blas, cublasSetWorkspace_v2);
  COLLBENCH_FIND(blas, cublasSgemm_v2);
  COLLBENCH_FIND(blas, cublasSgemv_v2);
#undef COLLBENCH_FIND
};

const Functions& functions() {
  static const Functions found;
  return found;
}

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw TransportError(
      fmt::format("cuDNN: {} failed: {}", call, functions().cudnnGetErrorString(status)));
}
void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw TransportError(
      fmt::format("cuBLAS: {} failed: {}", call, functions().cublasGetStatusString(status)));
}

// A tensor of f32 as our values lie: sample, height, width, channels.
class TensorDescriptor {
 public:
  TensorDescriptor(std::int64_t samples, const SampleShape& shape) {
    check(functions().cudnnCreateTensorDescriptor(&tensor_), "cudnnCreateTensorDescriptor");
    check(functions().cudnnSetTensor4dDescriptor(tensor_, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT,
                                                 static_cast<int>(samples), shape.channels,
                                                 shape.height, shape.width),
          "cudnnSetTensor4dDescriptor");
  }
  ~TensorDescriptor() { functions().cudnnDestroyTensorDescriptor(tensor_); }
  TensorDescriptor(const TensorDescriptor&) = delete;
  TensorDescriptor& operator=(const TensorDescriptor&) = delete;
  operator cudnnTensorDescriptor_t() const { return tensor_; }

 private:
  cudnnTensorDescriptor_t tensor_ = nullptr;
};

// What batch normalisation keeps for each channel of such values, as cuDNN wants it.
class ChannelDescriptor {
 public:
  explicit ChannelDescriptor(cudnnTensorDescriptor_t values) {
    check(functions().cudnnCreateTensorDescriptor(&tensor_), "cudnnCreateTensorDescriptor");
    check(functions().cudnnDeriveBNTensorDescriptor(tensor_, values, CUDNN_BATCHNORM_SPATIAL),
          "cudnnDeriveBNTensorDescriptor");
  }
  ~ChannelDescriptor() { functions().cudnnDestroyTensorDescriptor(tensor_); }
  ChannelDescriptor(const ChannelDescriptor&) = delete;
  ChannelDescriptor& operator=(const ChannelDescriptor&) = delete;
  operator cudnnTensorDescriptor_t() const { return tensor_; }

 private:
  cudnnTensorDescriptor_t tensor_ = nullptr;
};

class KernelDescriptors {
 public:
  explicit KernelDescriptors(const Stage& stage) {
    const Functions& call = functions();
    const int padding = stage.spec.padding;
    const int stride = stage.spec.stride;
    check(call.cudnnCreateFilterDescriptor(&filter_), "cudnnCreateFilterDescriptor");
    check(call.cudnnCreateConvolutionDescriptor(&convolution_), "cudnnCreateConvolutionDescriptor");
    check(call.cudnnSetFilter4dDescriptor(filter_, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC,
                                          stage.spec.units, stage.in.channels, 3, 3),
          "cudnnSetFilter4dDescriptor");
    check(call.cudnnSetConvolution2dDescriptor(convolution_, padding, padding, stride, stride, 1, 1,
                                               CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cudnnSetConvolution2dDescriptor");
    check(call.cudnnSetConvolutionMathType(convolution_, CUDNN_DEFAULT_MATH),
          "cudnnSetConvolutionMathType");
  }
  ~KernelDescriptors() {
    functions().cudnnDestroyFilterDescriptor(filter_);
    functions().cudnnDestroyConvolutionDescriptor(convolution_);
  }
  KernelDescriptors(const KernelDescriptors&) = delete;
  KernelDescriptors& operator=(const KernelDescriptors&) = delete;
  cudnnFilterDescriptor_t filter() const { return filter_; }
  cudnnConvolutionDescriptor_t convolution() const { return convolution_; }

 private:
  cudnnFilterDescriptor_t filter_ = nullptr;
  cudnnConvolutionDescriptor_t convolution_ = nullptr;
};

constexpr float one = 1;
constexpr float zero = 0;

class CudnnConvolution final : public GpuConvolution {
 public:
  CudnnConvolution(cudnnHandle_t handle, const Stage& stage, std::int64_t samples, int device)
      : handle_(handle), kernel_(stage), in_(samples, stage.in), out_(samples, stage.out) {
    const Functions& call = functions();
    forward_ = choose<cudnnConvolutionFwdAlgoPerf_t>("forward", [&](int most, int* n, auto* all) {
      return call.cudnnGetConvolutionForwardAlgorithm_v7(handle_, in_, kernel_.filter(),
                                                         kernel_.convolution(), out_, most, n, all);
    });
    data_ = choose<cudnnConvolutionBwdDataAlgoPerf_t>("data", [&](int most, int* n, auto* all) {
      return call.cudnnGetConvolutionBackwardDataAlgorithm_v7(
          handle_, kernel_.filter(), out_, kernel_.convolution(), in_, most, n, all);
    });
    filter_ =
        choose<cudnnConvolutionBwdFilterAlgoPerf_t>("kernel", [&](int most, int* n, auto* all) {
          return call.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
              handle_, in_, out_, kernel_.convolution(), kernel_.filter(), most, n, all);
        });
    const std::size_t most = std::max({forward_.memory, data_.memory, filter_.memory});
    workspace_ = allocate_on_cuda(device, Bytes{static_cast<std::int64_t>(most)});
  }

  void forward(const float* in, const float* kernel, float* out) override {
    use(forward_);
    check(functions().cudnnConvolutionForward(handle_, &one, in_, in, kernel_.filter(), kernel,
                                              kernel_.convolution(), forward_.algo,
                                              workspace_.get(), forward_.memory, &zero, out_, out),
          "cudnnConvolutionForward");
  }
  void kernel_slope(const float* in, const float* slope, float* kernel_slope) override {
    use(filter_);
    check(functions().cudnnConvolutionBackwardFilter(
              handle_, &one, in_, in, out_, slope, kernel_.convolution(), filter_.algo,
              workspace_.get(), filter_.memory, &zero, kernel_.filter(), kernel_slope),
          "cudnnConvolutionBackwardFilter");
  }
  void in_slope(const float* slope, const float* kernel, float* in_slope) override {
    use(data_);
    check(functions().cudnnConvolutionBackwardData(
              handle_, &one, kernel_.filter(), kernel, out_, slope, kernel_.convolution(),
              data_.algo, workspace_.get(), data_.memory, &zero, in_, in_slope),
          "cudnnConvolutionBackwardData");
  }

 private:
  // What an algorithm is and how much memory it takes holds for its kind of mathematics only.
  template <class Performance>
  void use(const Performance& chosen) {
    check(functions().cudnnSetConvolutionMathType(kernel_.convolution(), chosen.mathType),
          "cudnnSetConvolutionMathType");
  }

  // The first that cuDNN's heuristics give which is deterministic and frugal.
  template <class Performance, class Ask>
  static Performance choose(const char* what, const Ask& ask) {
    Performance all[8];
    int count = 0;
    check(ask(8, &count, all), "cudnnGetConvolution*Algorithm_v7");
    for (int i = 0; i < count; ++i) {
      const bool fits = all[i].status == CUDNN_STATUS_SUCCESS && all[i].memory <= most_workspace &&
                        all[i].mathType != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
      if (fits && all[i].determinism == CUDNN_DETERMINISTIC) return all[i];
    }
    throw Unavailable(fmt::format(
        "cuDNN has no deterministic algorithm for the {} pass of a convolution here", what));
  }

  cudnnHandle_t handle_;
  KernelDescriptors kernel_;
  TensorDescriptor in_;
  TensorDescriptor out_;
  cudnnConvolutionFwdAlgoPerf_t forward_{};
  cudnnConvolutionBwdDataAlgoPerf_t data_{};
  cudnnConvolutionBwdFilterAlgoPerf_t filter_{};
  std::shared_ptr<std::byte> workspace_;
};

}  // namespace

std::string why_no_gpu_math() {
  if (const CudaDevices found = find_cuda_devices(); !found.unavailable.empty()) {
    return found.unavailable;
  }
  try {
    functions();
    return "";
  } catch (const Unavailable& error) {
    return error.what();
  }
}

class GpuMath::Parts {
 public:
  Parts(CUstream_st* stream_, std::int64_t largest_rows) : stream(stream_) {
    check(functions().cudnnCreate(&dnn), "cudnnCreate");
    check(functions().cudnnSetStream(dnn, stream), "cudnnSetStream");
    check(functions().cublasCreate_v2(&blas), "cublasCreate");
    check(functions().cublasSetStream_v2(blas, stream), "cublasSetStream");
    device = current_cuda_device();
    // A workspace of our own: graphs replay with the memory that they were captured with.
    workspace = allocate_on_cuda(device, blas_workspace);
    check(functions().cublasSetWorkspace_v2(blas, workspace.get(),
                                            static_cast<std::size_t>(blas_workspace.count)),
          "cublasSetWorkspace");
    const std::vector<float> values(static_cast<std::size_t>(largest_rows), 1.0F);
    const Bytes size{largest_rows * static_cast<std::int64_t>(sizeof(float))};
    ones = allocate_on_cuda(device, size);
    copy_with_cuda(ones.get(), reinterpret_cast<const std::byte*>(values.data()), size);
  }
  ~Parts() {
    functions().cublasDestroy_v2(blas);
    functions().cudnnDestroy(dnn);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  CUstream_st* stream;
  int device = 0;
  cudnnHandle_t dnn = nullptr;
  cublasHandle_t blas = nullptr;
  std::shared_ptr<std::byte> workspace;
  std::shared_ptr<std::byte> ones;
};

GpuMath::GpuMath(CUstream_st* stream, std::int64_t largest_rows) {
  if (const std::string why = why_no_gpu_math(); !why.empty()) throw Unavailable(why);
  parts_ = std::make_unique<Parts>(stream, largest_rows);
}
GpuMath::~GpuMath() = default;

CUstream_st* GpuMath::stream() const { return parts_->stream; }

// cuBLAS counts by columns: what it takes for a factor is ours transposed, so the factors change
// places.
void GpuMath::product(Factor a, Factor b, float* out, std::int64_t m, std::int64_t n,
                      std::int64_t k) {
  const auto width = [](bool transposed, std::int64_t rows, std::int64_t columns) {
    return static_cast<int>(transposed ? rows : columns);
  };
  const auto form = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check(functions().cublasSgemm_v2(parts_->blas, form(b.transposed), form(a.transposed),
                                   static_cast<int>(n), static_cast<int>(m), static_cast<int>(k),
                                   &one, b.data, width(b.transposed, k, n), a.data,
                                   width(a.transposed, m, k), &zero, out, static_cast<int>(n)),
        "cublasSgemm");
}

void GpuMath::column_sums(const float* in, float* out, std::int64_t rows, std::int64_t columns) {
  check(functions().cublasSgemv_v2(parts_->blas, CUBLAS_OP_N, static_cast<int>(columns),
                                   static_cast<int>(rows), &one, in, static_cast<int>(columns),
                                   reinterpret_cast<const float*>(parts_->ones.get()), 1, &zero,
                                   out, 1),
        "cublasSgemv");
}

std::unique_ptr<GpuConvolution> GpuMath::convolution(const Stage& stage, std::int64_t samples) {
  return std::make_unique<CudnnConvolution>(parts_->dnn, stage, samples, parts_->device);
}

void GpuMath::normalise(const GpuNormalisation& norm, bool training, const float* in, float* out) {
  const TensorDescriptor values(norm.samples, norm.shape);
  const ChannelDescriptor channels(values);
  if (!training) {
    check(functions().cudnnBatchNormalizationForwardInference(
              parts_->dnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, values, in, values, out, channels,
              norm.factors, norm.shifts, norm.moving_means, norm.moving_variances,
              batch_norm_epsilon),
          "cudnnBatchNormalizationForwardInference");
    return;
  }
  check(functions().cudnnBatchNormalizationForwardTraining(
            parts_->dnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, values, in, values, out, channels,
            norm.factors, norm.shifts, 1 - batch_norm_keep, norm.moving_means,
            norm.moving_variances, batch_norm_epsilon, norm.means, norm.inverses),
        "cudnnBatchNormalizationForwardTraining");
}

void GpuMath::normalise_slopes(const GpuNormalisation& norm, const float* in, const float* slope,
                               float* shift_slopes, float* factor_slopes, float* in_slope) {
  const TensorDescriptor values(norm.samples, norm.shape);
  const ChannelDescriptor channels(values);
  check(functions().cudnnBatchNormalizationBackward(
            parts_->dnn, CUDNN_BATCHNORM_SPATIAL, &one, &zero, &one, &zero, values, in, values,
            slope, values, in_slope, channels, norm.factors, factor_slopes, shift_slopes,
            batch_norm_epsilon, norm.means, norm.inverses),
        "cudnnBatchNormalizationBackward");
}

}  // namespace collbench
