#include <algorithm>

#include "training/engines/gpu_for_all.inc"
#include "training/engines/gpu_kernels.h"
#include "training/engines/gpu_shortcut.inc"

namespace collbench {
namespace {

// The first of the four inputs of an output of the pool, and the one that wins.
struct PoolingWindow {
  int height, width, channels;  // of the input

  __device__ std::int64_t corner(std::int64_t i) const {
    const std::int64_t columns = width / 2;
    const std::int64_t rows = height / 2;
    const std::int64_t c = i % channels;
    const std::int64_t x = i / channels % columns;
    const std::int64_t y = i / channels / columns % rows;
    const std::int64_t sample = i / channels / columns / rows;
    return ((sample * height + 2 * y) * width + 2 * x) * channels + c;
  }
  __device__ std::int64_t winner(const float* in, std::int64_t corner) const {
    const std::int64_t line = std::int64_t{width} * channels;
    std::int64_t best = corner;
    const std::int64_t others[] = {corner + channels, corner + line, corner + line + channels};
    for (const std::int64_t other : others) {
      if (in[other] > in[best]) best = other;
    }
    return best;
  }
};

PoolingWindow pool_of(const SampleShape& shape) {
  return {shape.height, shape.width, shape.channels};
}

std::int64_t pooled(const SampleShape& shape, std::int64_t samples) {
  return samples * (shape.height / 2) * (shape.width / 2) * shape.channels;
}

__device__ unsigned long long mixed(unsigned long long v) {
  v ^= v >> 31;
  v *= 0x9E3779B97F4A7C15ULL;
  v ^= v >> 29;
  v *= 0xBF58476D1CE4E5B9ULL;
  return v ^ (v >> 32);
}

// Sums of integers are the same in any order.
__global__ void add_hashes(const float* values, std::int64_t count, unsigned long long* hash) {
  const std::int64_t stride = std::int64_t{gridDim.x} * gpu_threads;
  unsigned long long sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * gpu_threads + threadIdx.x; i < count;
       i += stride) {
    const auto bits = static_cast<unsigned long long>(__float_as_uint(values[i]));
    sum += mixed((static_cast<unsigned long long>(i) << 32) + bits + 1);
  }
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffU, sum, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(hash, sum);
}

}  // namespace

void gpu_relu(const float* in, float* out, std::int64_t count, CUstream_st* stream) {
  for_all(count, "relu", stream, [=] __device__(std::int64_t i) { out[i] = fmaxf(in[i], 0.0F); });
}

namespace {

template <int width>
struct ReluSlope {
  const Floats<width>* out;
  const Floats<width>* slope;
  Floats<width>* in_slope;

  __device__ void operator()(std::int64_t i) const {
    const Floats<width> reached = out[i];
    Floats<width> now = slope[i];
    for (int k = 0; k < width; ++k) now.at[k] = reached.at[k] > 0 ? now.at[k] : 0.0F;
    in_slope[i] = now;
  }
};

template <int width>
struct AddTo {
  const Floats<width>* from;
  Floats<width>* to;

  __device__ void operator()(std::int64_t i) const {
    const Floats<width> more = from[i];
    Floats<width> now = to[i];
    for (int k = 0; k < width; ++k) now.at[k] += more.at[k];
    to[i] = now;
  }
};

// The bias lies where it may not be read as one.
template <int width>
struct AddBias {
  Floats<width>* rows;
  const float* bias;
  bool relu;

  __device__ void operator()(std::int64_t i, int column) const {
    Floats<width> now = rows[i];
    for (int k = 0; k < width; ++k) {
      now.at[k] += bias[column * width + k];
      if (relu) now.at[k] = fmaxf(now.at[k], 0.0F);
    }
    rows[i] = now;
  }
};

}  // namespace

void gpu_relu_slope(const float* out, const float* slope, float* in_slope, std::int64_t count,
                    CUstream_st* stream) {
  with_width(count, [&](auto width) {
    const ReluSlope<width> body{packed<width>(out), packed<width>(slope), packed<width>(in_slope)};
    for_all(count / width, "gradient of relu", stream, body);
  });
}

void gpu_add_bias(float* rows, const float* bias, bool relu, std::int64_t count,
                  std::int64_t columns, CUstream_st* stream) {
  with_width(columns, [&](auto width) {
    for_rows(count, columns / width, "bias", stream,
             AddBias<width>{packed<width>(rows), bias, relu});
  });
}

void gpu_turn_kernels(const float* parameters, float* turned, const GpuArray<TurnedKernel>& kernels,
                      std::int64_t end, CUstream_st* stream) {
  const TurnedKernel* const all = kernels.data();
  const auto count = static_cast<int>(kernels.size());
  for_all(end, "kernels", stream, [=] __device__(std::int64_t i) {
    int low = 0;
    for (int high = count; high - low > 1;) {
      const int middle = (low + high) / 2;
      (all[middle].to <= i ? low : high) = middle;
    }
    const TurnedKernel kernel = all[low];
    const auto at = static_cast<int>(i - kernel.to);
    if (at >= kernel.depth * kernel.units) return;  // padding
    const std::int64_t turned_at = at % kernel.units * kernel.depth + at / kernel.units;
    turned[kernel.to + turned_at] = parameters[kernel.first + at];
  });
}

void gpu_transpose(const float* in, float* out, std::int64_t rows, std::int64_t columns,
                   CUstream_st* stream) {
  for_all(rows * columns, "transposition", stream,
          [=] __device__(std::int64_t i) { out[i % columns * rows + i / columns] = in[i]; });
}

void gpu_add(const float* from, float* to, std::int64_t count, CUstream_st* stream) {
  with_width(count, [&](auto width) {
    for_all(count / width, "sum", stream, AddTo<width>{packed<width>(from), packed<width>(to)});
  });
}

void gpu_max_pool(const float* in, float* out, bool relu, const SampleShape& shape,
                  std::int64_t samples, CUstream_st* stream) {
  const PoolingWindow pool = pool_of(shape);
  for_all(pooled(shape, samples), "max pool", stream, [=] __device__(std::int64_t i) {
    const float most = in[pool.winner(in, pool.corner(i))];
    out[i] = relu ? fmaxf(most, 0.0F) : most;
  });
}

void gpu_max_pool_slope(const float* in, bool relu, const float* slope, float* in_slope,
                        const SampleShape& shape, std::int64_t samples, CUstream_st* stream) {
  const PoolingWindow pool = pool_of(shape);
  const auto bytes = static_cast<std::size_t>(samples * shape.size()) * sizeof(float);
  check_cuda(cudaMemsetAsync(in_slope, 0, bytes, stream), "cudaMemsetAsync");
  for_all(pooled(shape, samples), "gradient of max pool", stream, [=] __device__(std::int64_t i) {
    const std::int64_t winner = pool.winner(in, pool.corner(i));
    in_slope[winner] = relu && in[winner] <= 0 ? 0.0F : slope[i];
  });
}

void gpu_global_average(const float* in, float* out, const SampleShape& shape, std::int64_t samples,
                        CUstream_st* stream) {
  const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
  const std::int64_t channels = shape.channels;
  for_all(samples * channels, "global average", stream, [=] __device__(std::int64_t i) {
    const float* at = in + i / channels * pixels * channels + i % channels;
    float sum = 0;
    for (std::int64_t p = 0; p < pixels; ++p) sum += at[p * channels];
    out[i] = sum / static_cast<float>(pixels);
  });
}

void gpu_global_average_slope(const float* slope, float* in_slope, const SampleShape& shape,
                              std::int64_t samples, CUstream_st* stream) {
  const std::int64_t pixels = std::int64_t{shape.height} * shape.width;
  const std::int64_t channels = shape.channels;
  for_all(samples * pixels * channels, "gradient of global average", stream,
          [=] __device__(std::int64_t i) {
            const std::int64_t sample = i / channels / pixels;
            in_slope[i] = slope[sample * channels + i % channels] / static_cast<float>(pixels);
          });
}

void gpu_add_shortcut(const float* in, const float* shortcut, float* out, const SampleShape& shape,
                      const SampleShape& source, std::int64_t samples, CUstream_st* stream) {
  const Shortcut map{shape, source};
  for_all(samples * shape.size(), "shortcut", stream, [=] __device__(std::int64_t i) {
    const std::int64_t from = map.place(i);
    out[i] = from < 0 ? in[i] : in[i] + shortcut[from];
  });
}

void gpu_shortcut_slope(const float* slope, float* source_slope, const SampleShape& shape,
                        const SampleShape& source, std::int64_t samples, CUstream_st* stream) {
  const Shortcut map{shape, source};
  const auto bytes = static_cast<std::size_t>(samples * source.size()) * sizeof(float);
  check_cuda(cudaMemsetAsync(source_slope, 0, bytes, stream), "cudaMemsetAsync");
  for_all(samples * shape.size(), "gradient of shortcut", stream, [=] __device__(std::int64_t i) {
    const std::int64_t to = map.place(i);
    if (to >= 0) source_slope[to] = slope[i];
  });
}

void gpu_softmax(float* scores, const int* labels, float* losses, int* correct,
                 std::int64_t samples, std::int64_t classes, CUstream_st* stream) {
  for_all(samples, "softmax", stream, [=] __device__(std::int64_t i) {
    float* row = scores + i * classes;
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < classes; ++j) {
      if (row[j] > row[best]) best = j;
    }
    const float largest = row[best];
    float sum = 0;
    for (std::int64_t j = 0; j < classes; ++j) sum += expf(row[j] - largest);
    losses[i] = logf(sum) + largest - row[labels[i]];
    correct[i] = best == labels[i] ? 1 : 0;
    for (std::int64_t j = 0; j < classes; ++j) row[j] = expf(row[j] - largest) / sum;
  });
}

void gpu_softmax_slope(float* probabilities, const int* labels, const float* scale,
                       std::int64_t samples, std::int64_t classes, CUstream_st* stream) {
  for_all(samples * classes, "gradient of softmax", stream, [=] __device__(std::int64_t i) {
    const float target = i % classes == labels[i / classes] ? 1.0F : 0.0F;
    probabilities[i] = (probabilities[i] - target) * *scale;
  });
}

void gpu_sgd(float rate, float momentum, const float* slope, float* velocity, float* weights,
             std::int64_t count, CUstream_st* stream) {
  for_all(count, "update by sgd", stream, [=] __device__(std::int64_t i) {
    float step = -rate * slope[i];
    if (velocity != nullptr) step = velocity[i] = momentum * velocity[i] + step;
    weights[i] += step;
  });
}

void gpu_adam(const AdamRates<float>& rates, const float* slope, float* mean, float* square,
              float* weights, std::int64_t count, CUstream_st* stream) {
  for_all(count, "update by adam", stream, [=] __device__(std::int64_t i) {
    mean[i] += (slope[i] - mean[i]) * rates.mean_share;
    square[i] += (slope[i] * slope[i] - square[i]) * rates.square_share;
    weights[i] -= rates.step * mean[i] / (sqrtf(square[i]) + rates.epsilon);
  });
}

void gpu_hash(const float* values, std::int64_t count, unsigned long long* hash,
              CUstream_st* stream) {
  check_cuda(cudaMemsetAsync(hash, 0, sizeof *hash, stream), "cudaMemsetAsync");
  if (count <= 0) return;
  const auto blocks = std::clamp<std::int64_t>((count + gpu_threads - 1) / gpu_threads, 1, 1024);
  add_hashes<<<static_cast<unsigned>(blocks), gpu_threads, 0, stream>>>(values, count, hash);
  check_cuda(cudaGetLastError(), "hash");
}

}  // namespace collbench
