#include "training/engines/gpu_math.h"

#include <algorithm>
#include <vector>

#include <cublas_v2.h>
#include <cudnn.h>
#include <fmt/format.h>

#include "core/error.h"
#include "core/shared_library.h"
#include "training/engines/layer.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"

namespace collbench {
namespace {

constexpr std::size_t most_workspace = std::size_t{256} << 20;
constexpr Bytes blas_workspace{32 << 20};

void require_success(cudnnStatus_t status, const char* call);
void require_success(cublasStatus_t status, const char* call);

// A function of a library that returns a status, called by its name where it fails.
template <class Pointer>
class Checked;
template <class Status, class... Arguments>
class Checked<Status (*)(Arguments...)> {
 public:
  Checked(const SharedLibrary& library, const char* name) : name_(name) {
    library.bind(function_, name);
  }
  void operator()(Arguments... arguments) const { require_success(function_(arguments...), name_); }

 private:
  Status (*function_)(Arguments...) = nullptr;
  const char* name_;
};

// The functions called here, with the types of the headers and the names of the libraries. Those
// that end something, in destructors, are not checked.
struct Functions {
  static constexpr const char* advice =
      "; where a Python package has it, name its folder in LD_LIBRARY_PATH";
  SharedLibrary dnn = load_first({"libcudnn.so.9"}, advice);
  SharedLibrary blas = load_first({"libcublas.so.13", "libcublas.so.12"}, advice);

  // The declared functions give types only: whatever names one as a value must link the library.
  template <class Pointer>
  static Pointer in(const SharedLibrary& library, const char* name) {
    Pointer found = nullptr;
    library.bind(found, name);
    return found;
  }
#define COLLBENCH_FIND(library, name) decltype(&::name) name = in<decltype(&::name)>(library, #name)
#define COLLBENCH_CHECK(library, name) \
  Checked<decltype(&::name)> name { library, #name }
  COLLBENCH_FIND(dnn, cudnnGetErrorString);
  COLLBENCH_CHECK(dnn, cudnnCreate);
  COLLBENCH_FIND(dnn, cudnnDestroy);
  COLLBENCH_CHECK(dnn, cudnnSetStream);
  COLLBENCH_CHECK(dnn, cudnnCreateTensorDescriptor);
  COLLBENCH_FIND(dnn, cudnnDestroyTensorDescriptor);
  COLLBENCH_CHECK(dnn, cudnnSetTensor4dDescriptor);
  COLLBENCH_CHECK(dnn, cudnnCreateFilterDescriptor);
  COLLBENCH_FIND(dnn, cudnnDestroyFilterDescriptor);
  COLLBENCH_CHECK(dnn, cudnnSetFilter4dDescriptor);
  COLLBENCH_CHECK(dnn, cudnnCreateConvolutionDescriptor);
  COLLBENCH_FIND(dnn, cudnnDestroyConvolutionDescriptor);
  COLLBENCH_CHECK(dnn, cudnnSetConvolution2dDescriptor);
  COLLBENCH_CHECK(dnn, cudnnSetConvolutionMathType);
  COLLBENCH_CHECK(dnn, cudnnGetConvolutionForwardAlgorithm_v7);
  COLLBENCH_CHECK(dnn, cudnnGetConvolutionBackwardDataAlgorithm_v7);
  COLLBENCH_CHECK(dnn, cudnnGetConvolutionBackwardFilterAlgorithm_v7);
  COLLBENCH_CHECK(dnn, cudnnConvolutionForward);
  COLLBENCH_CHECK(dnn, cudnnConvolutionBackwardData);
  COLLBENCH_CHECK(dnn, cudnnConvolutionBackwardFilter);
  COLLBENCH_FIND(blas, cublasGetStatusString);
  COLLBENCH_CHECK(blas, cublasCreate_v2);
  COLLBENCH_FIND(blas, cublasDestroy_v2);
  COLLBENCH_CHECK(blas, cublasSetStream_v2);
  COLLBENCH_CHECK(blas, cublasSetWorkspace_v2);
  COLLBENCH_CHECK(blas, cublasSgemm_v2);
  COLLBENCH_CHECK(blas, cublasSgemv_v2);
#undef COLLBENCH_CHECK
#undef COLLBENCH_FIND
};

const Functions& functions() {
  static const Functions found;
  return found;
}

void require_success(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw TransportError(
      fmt::format("cuDNN: {} failed: {}", call, functions().cudnnGetErrorString(status)));
}
void require_success(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw TransportError(
      fmt::format("cuBLAS: {} failed: {}", call, functions().cublasGetStatusString(status)));
}

// One of cuDNN's descriptions, which ends with its last owner.
template <class T>
std::shared_ptr<std::remove_pointer_t<T>> described(const Checked<cudnnStatus_t (*)(T*)>& create,
                                                    cudnnStatus_t (*destroy)(T)) {
  T made = nullptr;
  create(&made);
  return {made, destroy};
}
using TensorDescriptor = std::shared_ptr<cudnnTensorStruct>;

// A tensor of f32 as our values lie: sample, height, width, channels.
TensorDescriptor tensor_of(std::int64_t samples, const SampleShape& shape) {
  const Functions& call = functions();
  auto tensor = described(call.cudnnCreateTensorDescriptor, call.cudnnDestroyTensorDescriptor);
  call.cudnnSetTensor4dDescriptor(tensor.get(), CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT,
                                  static_cast<int>(samples), shape.channels, shape.height,
                                  shape.width);
  return tensor;
}

constexpr float one = 1;
constexpr float zero = 0;

class CudnnConvolution final : public GpuConvolution {
 public:
  CudnnConvolution(cudnnHandle_t handle, cudnnHandle_t beside, const Stage& stage,
                   std::int64_t samples, int device)
      : handle_(handle),
        beside_(beside),
        kernel_(described(call_.cudnnCreateFilterDescriptor, call_.cudnnDestroyFilterDescriptor)),
        convolution_(described(call_.cudnnCreateConvolutionDescriptor,
                               call_.cudnnDestroyConvolutionDescriptor)),
        in_(tensor_of(samples, stage.in)),
        out_(tensor_of(samples, stage.out)) {
    const int padding = stage.spec.padding;
    const int stride = stage.spec.stride;
    call_.cudnnSetFilter4dDescriptor(kernel_.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC,
                                     stage.spec.units, stage.in.channels, 3, 3);
    call_.cudnnSetConvolution2dDescriptor(convolution_.get(), padding, padding, stride, stride, 1,
                                          1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    call_.cudnnSetConvolutionMathType(convolution_.get(), CUDNN_DEFAULT_MATH);
    forward_ = choose<cudnnConvolutionFwdAlgoPerf_t>("forward", [&](int most, int* n, auto* all) {
      call_.cudnnGetConvolutionForwardAlgorithm_v7(handle_, in_.get(), kernel_.get(),
                                                   convolution_.get(), out_.get(), most, n, all);
    });
    data_ = choose<cudnnConvolutionBwdDataAlgoPerf_t>("data", [&](int most, int* n, auto* all) {
      call_.cudnnGetConvolutionBackwardDataAlgorithm_v7(
          handle_, kernel_.get(), out_.get(), convolution_.get(), in_.get(), most, n, all);
    });
    filter_ =
        choose<cudnnConvolutionBwdFilterAlgoPerf_t>("kernel", [&](int most, int* n, auto* all) {
          call_.cudnnGetConvolutionBackwardFilterAlgorithm_v7(
              beside_, in_.get(), out_.get(), convolution_.get(), kernel_.get(), most, n, all);
        });
    const auto allocate = [device](std::size_t bytes) {
      return allocate_on_cuda(device, Bytes{static_cast<std::int64_t>(bytes)});
    };
    workspace_ = allocate(std::max(forward_.memory, data_.memory));
    workspace_beside_ = allocate(filter_.memory);
  }

  void forward(const float* in, const float* kernel, float* out) override {
    use(forward_);
    call_.cudnnConvolutionForward(handle_, &one, in_.get(), in, kernel_.get(), kernel,
                                  convolution_.get(), forward_.algo, workspace_.get(),
                                  forward_.memory, &zero, out_.get(), out);
  }
  void kernel_slope(const float* in, const float* slope, float* kernel_slope) override {
    use(filter_);
    call_.cudnnConvolutionBackwardFilter(beside_, &one, in_.get(), in, out_.get(), slope,
                                         convolution_.get(), filter_.algo, workspace_beside_.get(),
                                         filter_.memory, &zero, kernel_.get(), kernel_slope);
  }
  void in_slope(const float* slope, const float* kernel, float* in_slope) override {
    use(data_);
    call_.cudnnConvolutionBackwardData(handle_, &one, kernel_.get(), kernel, out_.get(), slope,
                                       convolution_.get(), data_.algo, workspace_.get(),
                                       data_.memory, &zero, in_.get(), in_slope);
  }

 private:
  // What an algorithm is and how much memory it takes holds for its kind of mathematics only.
  template <class Performance>
  void use(const Performance& chosen) {
    call_.cudnnSetConvolutionMathType(convolution_.get(), chosen.mathType);
  }

  // The first that cuDNN's heuristics give which is deterministic and frugal.
  template <class Performance, class Ask>
  static Performance choose(const char* what, const Ask& ask) {
    Performance all[8];
    int count = 0;
    ask(8, &count, all);
    for (int i = 0; i < count; ++i) {
      const bool fits = all[i].status == CUDNN_STATUS_SUCCESS && all[i].memory <= most_workspace &&
                        all[i].mathType != CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION;
      if (fits && all[i].determinism == CUDNN_DETERMINISTIC) return all[i];
    }
    throw Unavailable(fmt::format(
        "cuDNN has no deterministic algorithm for the {} pass of a convolution here", what));
  }

  const Functions& call_ = functions();
  cudnnHandle_t handle_;
  cudnnHandle_t beside_;
  std::shared_ptr<cudnnFilterStruct> kernel_;
  std::shared_ptr<cudnnConvolutionStruct> convolution_;
  TensorDescriptor in_;
  TensorDescriptor out_;
  cudnnConvolutionFwdAlgoPerf_t forward_{};
  cudnnConvolutionBwdDataAlgoPerf_t data_{};
  cudnnConvolutionBwdFilterAlgoPerf_t filter_{};
  std::shared_ptr<std::byte> workspace_;
  std::shared_ptr<std::byte> workspace_beside_;
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
    functions().cudnnCreate(&dnn);
    functions().cudnnSetStream(dnn, stream);
    functions().cublasCreate_v2(&blas);
    functions().cublasSetStream_v2(blas, stream);
    device = current_cuda_device();
    // A workspace of our own: graphs replay with the memory that they were captured with.
    workspace = allocate_on_cuda(device, blas_workspace);
    functions().cublasSetWorkspace_v2(blas, workspace.get(),
                                      static_cast<std::size_t>(blas_workspace.count));
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
  functions().cublasSgemm_v2(parts_->blas, form(b.transposed), form(a.transposed),
                             static_cast<int>(n), static_cast<int>(m), static_cast<int>(k), &one,
                             b.data, width(b.transposed, k, n), a.data, width(a.transposed, m, k),
                             &zero, out, static_cast<int>(n));
}

void GpuMath::column_sums(const float* in, float* out, std::int64_t rows, std::int64_t columns) {
  functions().cublasSgemv_v2(parts_->blas, CUBLAS_OP_N, static_cast<int>(columns),
                             static_cast<int>(rows), &one, in, static_cast<int>(columns),
                             reinterpret_cast<const float*>(parts_->ones.get()), 1, &zero, out, 1);
}

std::unique_ptr<GpuConvolution> GpuMath::convolution(const Stage& stage, std::int64_t samples,
                                                     GpuMath& beside) {
  return std::make_unique<CudnnConvolution>(parts_->dnn, beside.parts_->dnn, stage, samples,
                                            parts_->device);
}

}  // namespace collbench
