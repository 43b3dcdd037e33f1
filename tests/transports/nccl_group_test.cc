// NCCL for threads that compute on GPUs and tell each other small things in memory of the host, as
// replicas of a training run do.
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/cuda/driver.h"
#include "transports/cuda/placed_communicator.h"
#include "transports/nccl/group.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;

bool is_device_memory(const std::byte* memory) {
  return CudaDriver::instance().is_device_memory(memory);
}

std::byte* bytes_of(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

class NcclGroupTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("COLLBENCH_CUDA_LIBRARY", GPU_STAND_IN, 1);
    ::setenv("COLLBENCH_NCCL_LIBRARY", GPU_STAND_IN, 1);
  }
  void TearDown() override { ::unsetenv("STAND_IN_FAULT"); }

  using Body = std::function<void(NcclGroup&, Communicator&, Communicator&)>;
  // Runs body(group, on the GPU, on both) for every rank on threads; what they throw, "" for
  // nothing.
  static std::vector<std::string> run(int ranks, const Body& body) {
    NcclGroup group(ranks, "nccl", Seconds{60});
    const auto world = allocate_shm_world(ranks, {});
    std::vector<std::string> said(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          auto host =
              make_schedule_communicator(make_schedule("ring", ranks),
                                         make_shm_endpoint({.world = world.get()}, rank), "host");
          auto gpu = group.join(rank);
          Communicator& on_gpu = *gpu;
          const auto both =
              make_placed_communicator(std::move(gpu), std::move(host), is_device_memory);
          body(group, on_gpu, *both);
        } catch (const std::exception& error) {
          said[static_cast<std::size_t>(rank)] = error.what();
          group.abort();
          abort_shm_world(world.get(), error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return said;
  }
};

TEST_F(NcclGroupTest, SumsOnGpusAndAveragesOnTheHost) {
  const auto said = run(3, [](NcclGroup&, Communicator& gpu, Communicator& both) {
    constexpr std::int64_t count = 1000;
    std::vector<float> values(count, static_cast<float>(both.rank() + 1));
    const auto memory = gpu.allocate({4 * count});
    CudaDriver::instance().upload(memory.get(), bytes_of(values), {4 * count});
    const Region on_gpu{memory.get(), count, DataType::f32};
    // NCCL would round an average over three ranks; the host does not.
    const Region on_host{bytes_of(values), count, DataType::f32};
    both.all_reduce(on_gpu, on_gpu, ReduceOp::sum);
    both.all_reduce(on_host, on_host, ReduceOp::avg);
    EXPECT_EQ(values, std::vector<float>(count, 2));
    both.barrier();
    CudaDriver::instance().download(bytes_of(values), memory.get(), {4 * count});
    EXPECT_EQ(values, std::vector<float>(count, 6));
    EXPECT_THROW(both.all_reduce(on_gpu, on_host, ReduceOp::sum), InvalidArgument);
    both.broadcast(on_host, 1);
    EXPECT_THAT(both.description(), HasSubstr("NCCL 2.28.9"));
  });
  EXPECT_THAT(said, Each(""));
}

TEST_F(NcclGroupTest, EndsTheWaitingOfAll) {
  ::setenv("STAND_IN_FAULT", "hang:1", 1);
  const auto said = run(2, [](NcclGroup& group, Communicator& gpu, Communicator& both) {
    const auto memory = gpu.allocate({4000});
    const Region region{memory.get(), 1000, DataType::f32};
    std::thread failing([&] {
      if (both.rank() != 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      group.abort();
    });
    try {
      both.all_reduce(region, region, ReduceOp::sum);
    } catch (...) {
      failing.join();
      throw;
    }
    failing.join();
  });
  EXPECT_THAT(said, Each(HasSubstr("the team gave up")));
}

TEST_F(NcclGroupTest, TakesOneRankOnEachGpu) {
  try {
    const NcclGroup group(9, "nccl", Seconds{1});
    FAIL() << "made";
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("9 ranks and 8 GPUs here"));
  }
  EXPECT_THROW(NcclGroup(2, "nccl:rang", Seconds{1}), InvalidArgument);
}

}  // namespace
}  // namespace collbench
