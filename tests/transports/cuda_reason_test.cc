#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transports/cuda/reason.h"

namespace collbench {
namespace {

using testing::HasSubstr;

constexpr CudaVersion none{0};
constexpr CudaVersion cuda_12_2{12020};
constexpr CudaVersion cuda_13_0{13000};

CudaFailure failure(const std::string& name) { return {"cudaGetDeviceCount", name, "its text"}; }

TEST(WhyNoDeviceTest, TellsNoDriverFromAnOldOne) {
  const CudaFailure insufficient = failure("cudaErrorInsufficientDriver");
  EXPECT_THAT(why_no_device(insufficient, none, cuda_13_0, nullptr),
              HasSubstr("no NVIDIA driver on this machine"));
  EXPECT_THAT(why_no_device(insufficient, cuda_12_2, cuda_13_0, nullptr),
              HasSubstr("supports CUDA 12.2, this build needs 13.0"));
}

TEST(WhyNoDeviceTest, TellsNoDeviceFromHiddenOnes) {
  const CudaFailure no_device = failure("cudaErrorNoDevice");
  EXPECT_THAT(why_no_device(no_device, cuda_13_0, cuda_13_0, nullptr), HasSubstr("no GPU"));
  EXPECT_THAT(why_no_device(no_device, cuda_13_0, cuda_13_0, "-1"),
              HasSubstr("CUDA_VISIBLE_DEVICES='-1' leaves no device"));
}

TEST(WhyNoDeviceTest, GivesOtherErrorsInCudasWords) {
  EXPECT_EQ(why_no_device(failure("cudaErrorSystemNotReady"), cuda_13_0, cuda_13_0, nullptr),
            "cudaGetDeviceCount failed: its text (cudaErrorSystemNotReady)");
}

TEST(FindCudaDevicesTest, GivesDevicesOrTheReasonWhyThereAreNone) {
  const CudaDevices found = find_cuda_devices();
  EXPECT_NE(found.devices.empty(), found.unavailable.empty());
  EXPECT_EQ(found.runtime.number >= 12000, COLLBENCH_BUILT_WITH_CUDA == 1);
  if (COLLBENCH_BUILT_WITH_CUDA == 0) {
    EXPECT_THAT(found.unavailable, HasSubstr("no CUDA support"));
  }
  for (const CudaDevice& device : found.devices) {
    EXPECT_NE(device.name, "");
    EXPECT_GT(device.memory.count, 0);
    EXPECT_THAT(device.pci_bus_id, testing::MatchesRegex("....:..:..\\.0"));
  }
}

}  // namespace
}  // namespace collbench
