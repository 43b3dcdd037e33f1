#include <cmath>

#include "training/engines/gpu_batch_norm.h"
#include "training/engines/gpu_for_all.inc"
#include "training/engines/gpu_shortcut.inc"
#include "training/engines/layer.h"

namespace collbench {
namespace {

constexpr unsigned most_blocks = 256;  // that sum one channel

// What a pass keeps for each channel.
enum OfChannel { mean, inverse, scale, shift, mean_slope, tilt, of_channel };

// The sums of both terms over the lanes of a block; for those of the first lane.
template <int width>
__device__ void sum_of_lanes(double2 (&own)[width], const RowPlace& place) {
  __shared__ double2 all[width][gpu_threads];
  __syncthreads();
  for (int k = 0; k < width; ++k) all[k][threadIdx.x] = own[k];
  for (int left = place.lanes; left > 1;) {
    const int half = (left + 1) / 2;
    __syncthreads();
    if (place.lane < left - half) {
      for (int k = 0; k < width; ++k) {
        const double2 other = all[k][threadIdx.x + half * place.columns];
        all[k][threadIdx.x].x += other.x;
        all[k][threadIdx.x].y += other.y;
      }
    }
    left = half;
  }
  for (int k = 0; k < width; ++k) own[k] = all[k][threadIdx.x];
}

// Two sums for each channel over all rows, to which term(i, column, sums) adds those of `width`
// channels, then finish(channel, sums). Each block sums some rows; the last to arrive sums the
// blocks.
template <int width, class Term, class Finish>
__global__ void __launch_bounds__(gpu_threads)
    sum_channels(std::int64_t rows, int columns, double2* sums, unsigned* arrived, const Term term,
                 const Finish finish) {
  const RowPlace place(columns);
  const bool is_used = place.lane < place.lanes;
  double2 own[width]{};
  if (is_used) {
#pragma unroll 4
    for (std::int64_t row = std::int64_t{blockIdx.x} * place.lanes + place.lane; row < rows;
         row += std::int64_t{gridDim.x} * place.lanes) {
      term(row * columns + place.column, place.column, own);
    }
  }
  sum_of_lanes(own, place);
  for (int k = 0; place.lane == 0 && k < width; ++k) {
    sums[(std::int64_t{blockIdx.x} * columns + place.column) * width + k] = own[k];
  }
  __threadfence();
  __syncthreads();
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicAdd(arrived + blockIdx.y, 1U) + 1 == gridDim.x;
  __syncthreads();
  if (!last) return;
  __threadfence();
  for (double2& sum : own) sum = {0, 0};
#pragma unroll 4
  for (unsigned block = place.lane; is_used && block < gridDim.x; block += place.lanes) {
    for (int k = 0; k < width; ++k) {
      const double2 other =
          __ldcg(sums + (std::int64_t{block} * columns + place.column) * width + k);
      own[k].x += other.x;
      own[k].y += other.y;
    }
  }
  sum_of_lanes(own, place);
  for (int k = 0; place.lane == 0 && k < width; ++k) finish(place.column * width + k, own[k]);
  if (threadIdx.x == 0) arrived[blockIdx.y] = 0;
}

}  // namespace

GpuBatchNorm::GpuBatchNorm(const Stage& stage, const float* parameters, float* gradients,
                           float* statistics, CUstream_st* stream)
    : stage_(stage),
      channels_(stage.out.channels),
      parameters_(parameters),
      gradients_(gradients),
      statistics_(statistics),
      stream_(stream),
      of_channels_(of_channel * channels_),
      sums_(2 * channels_ * most_blocks),
      arrived_((channels_ + gpu_threads - 1) / gpu_threads) {}

std::int64_t GpuBatchNorm::rows(std::int64_t samples) const {
  return samples * stage_.out.height * stage_.out.width;
}

template <class Term, class Finish>
void GpuBatchNorm::enqueue_sums(std::int64_t columns, std::int64_t rows, const char* name,
                                const Term& term, const Finish& finish) const {
  const dim3 grid = blocks_for_rows(rows, columns, 4, most_blocks);
  sum_channels<Term::width><<<grid, gpu_threads, 0, stream_>>>(
      rows, static_cast<int>(columns), reinterpret_cast<double2*>(sums_.data()), arrived_.data(),
      term, finish);
  check_cuda(cudaGetLastError(), name);
}

namespace {

template <int width_>
struct MomentsTerm {
  static constexpr int width = width_;
  const Floats<width>* in;

  __device__ void operator()(std::int64_t i, int /*column*/, double2 (&sums)[width]) const {
    const Floats<width> now = in[i];
    for (int k = 0; k < width; ++k) {
      const double value = now.at[k];
      sums[k].x += value;
      sums[k].y += value * value;
    }
  }
};

template <int width_>
struct SlopesTerm {
  static constexpr int width = width_;
  const Floats<width>* in;
  const Floats<width>* out;  // null without ReLU
  const Floats<width>* means;
  const Floats<width>* inverses;
  Floats<width>* slope;

  __device__ void operator()(std::int64_t i, int column, double2 (&sums)[width]) const {
    const Floats<width> value = in[i];
    Floats<width> now = slope[i];
    if (out != nullptr) {
      const Floats<width> reached = out[i];
      for (int k = 0; k < width; ++k) now.at[k] = reached.at[k] > 0 ? now.at[k] : 0.0F;
      slope[i] = now;
    }
    const Floats<width> mean_of = means[column];
    const Floats<width> inverse_of = inverses[column];
    for (int k = 0; k < width; ++k) {
      const double each = now.at[k];
      sums[k].x += each;
      sums[k].y += each * ((value.at[k] - mean_of.at[k]) * inverse_of.at[k]);
    }
  }
};

template <int width>
struct Normalise {
  const Floats<width>* in;
  const float* shortcut;  // null without one
  Floats<width>* out;
  const Floats<width>* kept;  // of channels
  int columns;
  Shortcut map;
  bool is_alike;  // the shortcut has the shape of the outcome
  bool relu;

  __device__ void operator()(std::int64_t i, int column) const {
    const Floats<width> value = in[i];
    const Floats<width> means = kept[mean * columns + column];
    const Floats<width> scales = kept[scale * columns + column];
    const Floats<width> shifts = kept[shift * columns + column];
    Floats<width> result;
    for (int k = 0; k < width; ++k) {
      result.at[k] = (value.at[k] - means.at[k]) * scales.at[k] + shifts.at[k];
    }
    if (shortcut != nullptr && is_alike) {
      const Floats<width> more = packed<width>(shortcut)[i];
      for (int k = 0; k < width; ++k) result.at[k] += more.at[k];
    } else if (shortcut != nullptr) {
      for (int k = 0; k < width; ++k) {
        const std::int64_t from = map.place(i * width + k);
        if (from >= 0) result.at[k] += shortcut[from];
      }
    }
    for (int k = 0; relu && k < width; ++k) result.at[k] = fmaxf(result.at[k], 0.0F);
    out[i] = result;
  }
};

// factor inverse (slope - mean of slopes - (in - mean) inverse^2 mean of slopes (in - mean)).
template <int width>
struct InSlope {
  const Floats<width>* in;
  const Floats<width>* slope;
  Floats<width>* in_slope;
  const Floats<width>* kept;  // of channels
  int columns;

  __device__ void operator()(std::int64_t i, int column) const {
    const Floats<width> value = in[i];
    const Floats<width> now = slope[i];
    const Floats<width> means = kept[mean * columns + column];
    const Floats<width> scales = kept[scale * columns + column];
    const Floats<width> common = kept[mean_slope * columns + column];
    const Floats<width> tilts = kept[tilt * columns + column];
    Floats<width> result;
    for (int k = 0; k < width; ++k) {
      result.at[k] =
          scales.at[k] * (now.at[k] - common.at[k] - (value.at[k] - means.at[k]) * tilts.at[k]);
    }
    in_slope[i] = result;
  }
};

}  // namespace

void GpuBatchNorm::forward(bool training, const float* in, const float* shortcut, float* out,
                           std::int64_t samples) {
  const std::int64_t count = rows(samples);
  const std::int64_t channels = channels_;
  float* const kept = of_channels_.data();
  const float* const parameters = parameters_;
  float* const statistics = statistics_;
  const auto keep = [=] __device__(std::int64_t c, double average, double variance) {
    const double inverse_of = 1 / sqrt(variance + batch_norm_epsilon);
    kept[mean * channels + c] = static_cast<float>(average);
    kept[inverse * channels + c] = static_cast<float>(inverse_of);
    kept[scale * channels + c] = static_cast<float>(inverse_of * parameters[channels + c]);
    kept[shift * channels + c] = parameters[c];
  };
  if (training) {
    const auto finish = [=] __device__(int c, double2 sums) {
      const auto all = static_cast<double>(count);
      const double average = sums.x / all;
      const double variance = fmax(sums.y / all - average * average, 0.0);
      keep(c, average, variance);
      // In memory of the host: read together, since one read takes a microsecond.
      float moving_mean = statistics[c];
      float moving_variance = statistics[channels + c];
      move_batch_norm_average(moving_mean, average);
      move_batch_norm_average(moving_variance, variance * all / fmax(1.0, all - 1));
      statistics[c] = moving_mean;
      statistics[channels + c] = moving_variance;
    };
    with_width(channels, [&](auto width) {
      const MomentsTerm<width> term{packed<width>(in)};
      enqueue_sums(channels / width, count, "batch normalisation", term, finish);
    });
  } else {
    for_all(channels, "moving statistics", stream_,
            [=] __device__(std::int64_t c) { keep(c, statistics[c], statistics[channels + c]); });
  }
  with_width(channels, [&](auto width) {
    const Normalise<width> body{packed<width>(in),
                                shortcut,
                                packed<width>(out),
                                packed<width>(kept),
                                static_cast<int>(channels / width),
                                {stage_.out, stage_.shortcut_shape},
                                stage_.out == stage_.shortcut_shape,
                                stage_.relu};
    for_rows(count, channels / width, "batch normalisation", stream_, body);
  });
}

void GpuBatchNorm::parameter_slopes(const float* in, const float* out, float* slope,
                                    std::int64_t samples) {
  const std::int64_t count = rows(samples);
  const std::int64_t channels = channels_;
  float* const kept = of_channels_.data();
  float* const gradients = gradients_;
  const auto finish = [=] __device__(int c, double2 sums) {
    gradients[c] = static_cast<float>(sums.x);
    gradients[channels + c] = static_cast<float>(sums.y);
    const auto all = static_cast<double>(count);
    kept[mean_slope * channels + c] = static_cast<float>(sums.x / all);
    kept[tilt * channels + c] =
        static_cast<float>(sums.y / all * static_cast<double>(kept[inverse * channels + c]));
  };
  with_width(channels, [&](auto width) {
    const SlopesTerm<width> term{packed<width>(in), stage_.relu ? packed<width>(out) : nullptr,
                                 packed<width>(kept + mean * channels),
                                 packed<width>(kept + inverse * channels), packed<width>(slope)};
    enqueue_sums(channels / width, count, "gradients of batch normalisation", term, finish);
  });
}

void GpuBatchNorm::in_slope(const float* in, const float* slope, float* in_slope,
                            std::int64_t samples) {
  const std::int64_t channels = channels_;
  with_width(channels, [&](auto width) {
    const InSlope<width> body{packed<width>(in), packed<width>(slope), packed<width>(in_slope),
                              packed<width>(of_channels_.data()),
                              static_cast<int>(channels / width)};
    for_rows(rows(samples), channels / width, "gradient of batch normalisation", stream_, body);
  });
}

}  // namespace collbench
