#include <algorithm>
#include <memory>
#include <string>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "tests/transports/every_element.h"

#include "core/error.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/reduce.h"

namespace collbench {
namespace {

using Arrays = std::vector<std::vector<std::byte>>;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw TransportError(cudaGetErrorString(error));
}

/// Device memory, `shift` bytes after an aligned address.
class DeviceArray {
 public:
  DeviceArray(std::size_t bytes, std::size_t shift) : shift_(shift) {
    check(cudaMalloc(&memory_, bytes + shift));
  }
  DeviceArray(DeviceArray&& other) noexcept : memory_(other.memory_), shift_(other.shift_) {
    other.memory_ = nullptr;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  DeviceArray& operator=(DeviceArray&&) = delete;
  ~DeviceArray() { cudaFree(memory_); }
  std::byte* data() const { return static_cast<std::byte*>(memory_) + shift_; }

 private:
  void* memory_ = nullptr;
  std::size_t shift_;
};

class CudaReduceTest : public testing::TestWithParam<DataType> {
 protected:
  void SetUp() override {
    if (const CudaDevices found = find_cuda_devices(); !found.unavailable.empty()) {
      GTEST_SKIP() << found.unavailable;
    }
  }
};

/// Folds on the GPU into a new array and, in place, into the last source; both results.
Arrays reduced_by_gpu(DataType type, Reduction reduction, const Arrays& sources,
                      std::size_t shift) {
  const std::size_t bytes = sources[0].size();
  std::vector<DeviceArray> arrays;
  std::vector<const std::byte*> from;
  for (const auto& source : sources) {
    arrays.emplace_back(bytes, shift);
    from.push_back(arrays.back().data());
    check(cudaMemcpy(arrays.back().data(), source.data(), bytes, cudaMemcpyHostToDevice));
  }
  arrays.emplace_back(bytes, shift);
  const std::vector<std::byte*> to{arrays.back().data(), arrays[sources.size() - 1].data()};
  cuda_reduce(type, reduction, from, to, static_cast<std::int64_t>(bytes) / size_of(type), nullptr);
  Arrays results(2, std::vector<std::byte>(bytes));
  for (std::size_t d = 0; d < 2; ++d) {
    check(cudaMemcpy(results[d].data(), to[d], bytes, cudaMemcpyDeviceToHost));
  }
  return results;
}

TEST_P(CudaReduceTest, GivesTheBitsOfTheCpu) {
  const DataType type = GetParam();
  for (const int sources : {1, 2, 3, 8, 33}) {
    for (const std::int64_t count : {1, 15, 16, 1027, 300001}) {
      Arrays inputs;
      for (int s = 0; s < sources; ++s) {
        inputs.push_back(every_element(type, count, static_cast<std::uint64_t>(s)));
      }
      for (const ReduceOp op : all_reduce_ops()) {
        const int divisor = op == ReduceOp::avg ? sources : 1;
        const auto expected = reduced_by_cpu(type, op, divisor, inputs);
        for (const std::size_t shift : {std::size_t{0}, static_cast<std::size_t>(size_of(type))}) {
          for (const auto& result : reduced_by_gpu(type, {op, divisor}, inputs, shift)) {
            ASSERT_TRUE(result == expected) << to_string(op) << " of " << sources << " times "
                                            << count << ", shifted by " << shift;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, CudaReduceTest,
                         testing::ValuesIn(all_data_types().begin(), all_data_types().end()),
                         [](const auto& type) { return std::string(to_string(type.param)); });

TEST(CudaReduceLimitsTest, RefusesMoreArraysThanFit) {
  std::byte* const to = nullptr;
  const std::vector<const std::byte*> from(cuda_reduce_most_sources + 1);
  EXPECT_THROW(cuda_reduce(DataType::f32, {ReduceOp::sum, 1}, from, {&to, 1}, 4, nullptr),
               InvalidArgument);
}

}  // namespace
}  // namespace collbench
