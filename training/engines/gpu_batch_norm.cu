#include <cmath>

#include "training/engines/gpu_batch_norm.h"
#include "training/engines/gpu_for_all.inc"
#include "training/engines/layer.h"

namespace collbench {
namespace {

constexpr unsigned most_blocks = 256;  // that sum one channel
constexpr int most_columns = gpu_threads;

// The sums of both terms over the threads of a block that have the same column; for those of the
// first lane.
__device__ double2 sum_of_lanes(double2 own, int columns, int lanes) {
  __shared__ double2 all[gpu_threads];
  __syncthreads();
  all[threadIdx.x] = own;
  __syncthreads();
  if (static_cast<int>(threadIdx.x) < columns) {
    for (int lane = 1; lane < lanes; ++lane) {
      own.x += all[threadIdx.x + lane * columns].x;
      own.y += all[threadIdx.x + lane * columns].y;
    }
  }
  return own;
}

// Two sums for each channel over all rows, term(i, channel) each, then finish(channel, sums). Each
// block sums some rows of 256 channels; the last to arrive sums the blocks.
template <class Term, class Finish>
__global__ void __launch_bounds__(gpu_threads)
    sum_channels(std::int64_t rows, int channels, double2* sums, unsigned* arrived, const Term term,
                 const Finish finish) {
  const int first = static_cast<int>(blockIdx.y) * most_columns;
  const int columns = min(channels - first, most_columns);
  const int lanes = gpu_threads / columns;
  const int lane = static_cast<int>(threadIdx.x) / columns;
  const int channel = first + static_cast<int>(threadIdx.x) % columns;
  double2 own{0, 0};
  if (lane < lanes) {
#pragma unroll 4
    for (std::int64_t row = std::int64_t{blockIdx.x} * lanes + lane; row < rows;
         row += std::int64_t{gridDim.x} * lanes) {
      const float2 now = term(row * channels + channel, channel);
      own.x += now.x;
      own.y += static_cast<double>(now.x) * now.y;
    }
  }
  own = sum_of_lanes(own, columns, lanes);
  if (lane == 0) sums[std::int64_t{blockIdx.x} * channels + channel] = own;
  __threadfence();
  __syncthreads();
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicAdd(arrived + blockIdx.y, 1U) + 1 == gridDim.x;
  __syncthreads();
  if (!last) return;
  __threadfence();
  own = {0, 0};
  for (unsigned block = lane; lane < lanes && block < gridDim.x; block += lanes) {
    const double2 other = __ldcg(sums + std::int64_t{block} * channels + channel);
    own.x += other.x;
    own.y += other.y;
  }
  own = sum_of_lanes(own, columns, lanes);
  if (lane == 0) finish(channel, own);
  if (threadIdx.x == 0) arrived[blockIdx.y] = 0;
}

template <class Term, class Finish>
void enqueue_sums(const GpuBatchNormState& state, std::int64_t rows, const char* name,
                  CUstream_st* stream, const Term& term, const Finish& finish) {
  const std::int64_t columns = std::min<std::int64_t>(state.channels, most_columns);
  const std::int64_t lanes = gpu_threads / columns;
  const auto blocks = std::clamp<std::int64_t>(rows / (4 * lanes), 1, most_blocks);
  const dim3 grid(static_cast<unsigned>(blocks),
                  static_cast<unsigned>((state.channels + most_columns - 1) / most_columns));
  sum_channels<<<grid, gpu_threads, 0, stream>>>(rows, static_cast<int>(state.channels),
                                                 reinterpret_cast<double2*>(state.sums.data()),
                                                 state.arrived.data(), term, finish);
  check_cuda(cudaGetLastError(), name);
}

}  // namespace

GpuBatchNormState::GpuBatchNormState(std::int64_t channels_)
    : channels(channels_),
      means(channels),
      inverses(channels),
      slopes(2 * channels),
      sums(2 * channels * most_blocks),
      arrived((channels + most_columns - 1) / most_columns) {}

void gpu_batch_norm(const GpuBatchNormState& state, bool training, const float* in, float* out,
                    std::int64_t rows, const float* parameters, float* statistics,
                    CUstream_st* stream) {
  const std::int64_t channels = state.channels;
  float* const means = state.means.data();
  float* const inverses = state.inverses.data();
  const auto keep = [=] __device__(std::int64_t c, double mean, double variance) {
    means[c] = static_cast<float>(mean);
    inverses[c] = static_cast<float>(1 / sqrt(variance + batch_norm_epsilon));
  };
  if (training) {
    enqueue_sums(
        state, rows, "batch normalisation", stream,
        [=] __device__(std::int64_t i, int) {
          return float2{in[i], in[i]};
        },
        [=] __device__(int c, double2 sums) {
          const auto count = static_cast<double>(rows);
          const double mean = sums.x / count;
          const double variance = fmax(sums.y / count - mean * mean, 0.0);
          keep(c, mean, variance);
          move_batch_norm_average(statistics[c], mean);
          move_batch_norm_average(statistics[channels + c],
                                  variance * count / fmax(1.0, count - 1));
        });
  } else {
    for_all(channels, "moving statistics", stream,
            [=] __device__(std::int64_t c) { keep(c, statistics[c], statistics[channels + c]); });
  }
  for_all(rows * channels, "batch normalisation", stream, [=] __device__(std::int64_t i) {
    const std::int64_t c = i % channels;
    out[i] = (in[i] - means[c]) * inverses[c] * parameters[channels + c] + parameters[c];
  });
}

void gpu_batch_norm_parameter_slopes(const GpuBatchNormState& state, const float* in,
                                     const float* slope, std::int64_t rows, float* gradients,
                                     CUstream_st* stream) {
  const std::int64_t channels = state.channels;
  const float* const means = state.means.data();
  const float* const inverses = state.inverses.data();
  float* const own = state.slopes.data();
  enqueue_sums(
      state, rows, "gradients of batch normalisation", stream,
      [=] __device__(std::int64_t i, int c) {
        return float2{slope[i], (in[i] - means[c]) * inverses[c]};
      },
      [=] __device__(int c, double2 sums) {
        own[c] = gradients[c] = static_cast<float>(sums.x);
        own[channels + c] = gradients[channels + c] = static_cast<float>(sums.y);
      });
}

void gpu_batch_norm_in_slope(const GpuBatchNormState& state, const float* in, const float* slope,
                             float* in_slope, std::int64_t rows, const float* parameters,
                             CUstream_st* stream) {
  const std::int64_t channels = state.channels;
  const float* const means = state.means.data();
  const float* const inverses = state.inverses.data();
  const float* const own = state.slopes.data();
  const float share = 1 / static_cast<float>(rows);
  for_all(rows * channels, "gradient of batch normalisation", stream,
          [=] __device__(std::int64_t i) {
            const std::int64_t c = i % channels;
            const float common = own[c] + (in[i] - means[c]) * inverses[c] * own[channels + c];
            in_slope[i] = parameters[channels + c] * inverses[c] * (slope[i] - common * share);
          });
}

}  // namespace collbench
