// Both executors on a GPU: the bits of execute() for every algorithm, type and operator. Without a
// device the tests that need one are skipped with the reason; that it is given is tested then.
#include "transports/cuda/cuda_world.h"

#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/device_memories.h"
#include "tests/transports/every_element.h"

#include "algorithms/registry.h"
#include "algorithms/rooted.h"
#include "core/error.h"
#include "transports/cuda/cuda_communicator.h"
#include "transports/cuda/devices.h"
#include "transports/cuda/memory.h"
#include "transports/cuda/places.h"

namespace collbench {
namespace {

using namespace literals;
using testing::HasSubstr;

#define SKIP_WITHOUT_DEVICE()                                                      \
  if (const CudaDevices found = find_cuda_devices(); !found.unavailable.empty()) { \
    GTEST_SKIP() << found.unavailable;                                             \
  }                                                                                \
  static_assert(true, "")

CudaWorldOptions options_for(int ranks, CudaExecutor executor) {
  CudaWorldOptions options;
  const auto count = static_cast<int>(find_cuda_devices().devices.size());
  options.devices = place_on_cuda(parse_cuda_devices("", std::max(count, 1)), ranks);
  options.executor = executor;
  options.timeout = Seconds{20};
  return options;
}

/// Buffers of all ranks on their devices.
class DeviceBuffers {
 public:
  DeviceBuffers(const DeviceCase& point, const std::vector<int>& devices, std::int64_t shift = 0)
      : point_(point) {
    const Bytes size{point.count * size_of(point.type) + 256};
    for (std::size_t r = 0; r < devices.size(); ++r) {
      const Bits input = every_element(point.type, point.count, static_cast<std::uint64_t>(r) + 1);
      ins_.push_back(allocate_on_cuda(devices[r], size));
      outs_.push_back(point.in_place ? ins_.back() : allocate_on_cuda(devices[r], size));
      in.push_back({ins_.back().get() + shift, point.count, point.type});
      out.push_back({outs_.back().get() + shift, point.count, point.type});
      if (!input.empty()) copy_with_cuda(in.back().data, input.data(), in.back().size());
    }
  }
  std::vector<Bits> outputs() const {
    std::vector<Bits> all;
    for (const Region& region : out) {
      all.emplace_back(static_cast<std::size_t>(region.size().count));
      if (region.count > 0) copy_with_cuda(all.back().data(), region.data, region.size());
    }
    return all;
  }
  std::vector<Region> in;
  std::vector<Region> out;

 private:
  DeviceCase point_;
  std::vector<std::shared_ptr<std::byte>> ins_;
  std::vector<std::shared_ptr<std::byte>> outs_;
};

constexpr CudaExecutor executors[] = {CudaExecutor::graph, CudaExecutor::persistent};

void expect_cuda_gives_the_bits_of_execute(const Schedule& schedule) {
  int turn = 0;
  for (const CudaExecutor executor : executors) {
    const CudaWorldOptions options = options_for(schedule.ranks(), executor);
    CudaWorld world(options);
    for (const std::int64_t count : {1, 17, 1003, 70001}) {
      const DataType type = all_data_types()[static_cast<std::size_t>(turn) % 7];
      const ReduceOp op = all_reduce_ops()[static_cast<std::size_t>(turn) % 5];
      const DeviceCase point{schedule, count, type, op, turn % 3 != 0};
      ++turn;
      const std::vector<Bits> expected = executed(point);
      for (int replay = 0; replay < 2; ++replay) {
        DeviceBuffers buffers(point, options.devices, replay == 0 ? 0 : size_of(type));
        world.play({0, op, buffers.in, buffers.out}, schedule);
        ASSERT_EQ(buffers.outputs(), expected)
            << to_string(executor) << ", " << to_string(type) << " " << to_string(op) << " of "
            << count << ", replay " << replay;
      }
    }
  }
}

class EveryScheduleOnCuda : public testing::TestWithParam<ScheduleFamily> {};

TEST_P(EveryScheduleOnCuda, GivesTheBitsOfExecuteWithBothExecutors) {
  SKIP_WITHOUT_DEVICE();
  for (const Schedule& schedule : GetParam().schedules()) {
    SCOPED_TRACE(schedule.ranks());
    expect_cuda_gives_the_bits_of_execute(schedule);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryScheduleOnCuda, testing::ValuesIn(every_family()),
                         [](const auto& test) { return test.param.name; });

TEST(CudaWorldTest, ReducesEveryTypeWithEveryOperator) {
  SKIP_WITHOUT_DEVICE();
  for (const CudaExecutor executor : executors) {
    const CudaWorldOptions options = options_for(4, executor);
    CudaWorld world(options);
    for (const char* name : {"ring", "direct"}) {
      const Schedule schedule = make_schedule(name, 4);
      std::int64_t key = name[0];
      for (const DataType type : all_data_types()) {
        for (const ReduceOp op : all_reduce_ops()) {
          const DeviceCase point{schedule, 5003, type, op, true};
          DeviceBuffers buffers(point, options.devices);
          world.play({key, op, buffers.in, buffers.out}, schedule);
          ASSERT_EQ(buffers.outputs(), executed(point))
              << name << ", " << to_string(executor) << ", " << to_string(type) << " "
              << to_string(op);
        }
      }
    }
  }
}

TEST(CudaWorldTest, ReducesManyLongVectorsOfEveryType) {
  SKIP_WITHOUT_DEVICE();
  const CudaWorldOptions options = options_for(33, CudaExecutor::graph);
  CudaWorld world(options);
  const Schedule schedule = make_schedule("direct", 33);
  int turn = 0;
  for (const DataType type : all_data_types()) {
    const ReduceOp op = all_reduce_ops()[static_cast<std::size_t>(turn++) % 5];
    const DeviceCase point{schedule, 300001, type, op, true};
    const std::vector<Bits> expected = executed(point);
    for (const int shift : {0, size_of(type)}) {
      DeviceBuffers buffers(point, options.devices, shift);
      world.play({0, op, buffers.in, buffers.out}, schedule);
      ASSERT_TRUE(buffers.outputs() == expected) << to_string(type) << ", shifted by " << shift;
    }
  }
}

TEST(CudaWorldTest, ReplaysManyTimesWithoutAHostBetween) {
  SKIP_WITHOUT_DEVICE();
  for (const CudaExecutor executor : executors) {
    const CudaWorldOptions options = options_for(8, executor);
    CudaWorld world(options);
    const DeviceCase point{make_schedule("ring", 8), 256, DataType::f32, ReduceOp::max, false};
    DeviceBuffers buffers(point, options.devices);
    EXPECT_GT(
        world.time_on_device({0, point.op, buffers.in, buffers.out}, point.schedule, 1000).count(),
        0);
    EXPECT_EQ(buffers.outputs(), executed(point)) << to_string(executor);
  }
}

TEST(CudaWorldTest, TakesBuffersInHostMemory) {
  SKIP_WITHOUT_DEVICE();
  const DeviceCase point{make_schedule("tree", 3), 999, DataType::f64, ReduceOp::sum, false};
  for (const CudaExecutor executor : executors) {
    CudaWorld world(options_for(3, executor));
    std::vector<Bits> inputs;
    std::vector<Bits> outputs(3, Bits(999 * 8));
    std::vector<Region> in;
    std::vector<Region> out;
    for (std::size_t r = 0; r < 3; ++r) inputs.push_back(every_element(point.type, 999, r + 1));
    for (std::size_t r = 0; r < 3; ++r) {
      in.push_back({inputs[r].data(), 999, point.type});
      out.push_back({outputs[r].data(), 999, point.type});
    }
    world.play({0, point.op, in, out}, point.schedule);
    EXPECT_EQ(outputs, executed(point));
  }
}

TEST(CudaWorldTest, SaysHowMuchMemoryThereIsWhenItIsNotEnough) {
  SKIP_WITHOUT_DEVICE();
  try {
    allocate_on_cuda(0, Bytes{std::int64_t{1} << 50});
    FAIL() << "1 PiB was allocated";
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("gpu:0 is out of memory: 1024 TiB wanted"));
    EXPECT_THAT(error.what(), HasSubstr("free"));
  }
  EXPECT_NO_THROW(allocate_on_cuda(0, 1_MiB));  // the error does not stay
}

TEST(CudaWorldTest, RefusesADeviceThatIsNotThere) {
  CudaWorldOptions options;
  options.devices = {4711};
  const CudaDevices found = find_cuda_devices();
  try {
    const CudaWorld world(options);
    FAIL() << "made";
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(),
                HasSubstr(found.unavailable.empty() ? "gpu:4711" : found.unavailable.c_str()));
  }
}

TEST(CudaExecutorTest, IsReadByNameWithASuggestion) {
  EXPECT_EQ(parse_cuda_executor(""), CudaExecutor::automatic);
  for (const CudaExecutor e :
       {CudaExecutor::automatic, CudaExecutor::graph, CudaExecutor::persistent}) {
    EXPECT_EQ(parse_cuda_executor(to_string(e)), e);
  }
  EXPECT_THROW(parse_cuda_executor("persistant"), InvalidArgument);
}

/// Runs body(communicator) for every rank on threads; the messages of what they throw.
std::vector<std::string> on_cuda_ranks(const std::shared_ptr<CudaGroup>& group,
                                       const std::function<void(Communicator&)>& body) {
  std::vector<std::string> said(group->options().devices.size());
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < said.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        body(*make_cuda_communicator(group, static_cast<Rank>(r)));
      } catch (const std::exception& error) {
        said[r] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

std::shared_ptr<CudaGroup> ring_group(const CudaWorldOptions& options) {
  const Schedule ring = make_schedule("ring", static_cast<int>(options.devices.size()));
  return std::make_shared<CudaGroup>(
      options,
      PlayedSchedules{[ring](Bytes, DataType) { return ring; },
                      [ranks = ring.ranks()](Bytes bytes, const Collective& collective) {
                        return std::optional(make_schedule(
                            AlgorithmSpec{has_root(collective.kind) ? "tree" : "ring", {}}, ranks,
                            bytes, collective));
                      }},
      "ring");
}

TEST(CudaCommunicatorTest, ReducesAndBroadcastsWithAThreadForEachRank) {
  SKIP_WITHOUT_DEVICE();
  const CudaWorldOptions options = options_for(4, CudaExecutor::persistent);
  const DeviceCase point{make_schedule("ring", 4), 1000, DataType::f32, ReduceOp::avg, true};
  DeviceBuffers buffers(point, options.devices);
  const auto said = on_cuda_ranks(ring_group(options), [&](Communicator& communicator) {
    const auto r = static_cast<std::size_t>(communicator.rank());
    communicator.all_reduce(buffers.in[r], buffers.out[r], point.op);
    communicator.barrier();
  });
  EXPECT_THAT(said, testing::Each(""));
  EXPECT_EQ(buffers.outputs(), executed(point));

  DeviceBuffers fresh(point, options.devices);
  const Bits third = fresh.outputs()[2];
  on_cuda_ranks(ring_group(options), [&](Communicator& communicator) {
    communicator.broadcast(fresh.in[static_cast<std::size_t>(communicator.rank())], 2);
  });
  EXPECT_THAT(fresh.outputs(), testing::Each(third));
}

// Regions are parts of vectors in device memory, in place and out of place.
TEST(CudaCommunicatorTest, ReducesAndCopiesInEveryCollective) {
  SKIP_WITHOUT_DEVICE();
  constexpr int ranks = 3;
  for (const CudaExecutor executor : executors) {
    const CudaWorldOptions options = options_for(ranks, executor);
    const auto group = ring_group(options);
    for (const std::string_view name : collective_names()) {
      const CollectiveKind kind = parse_collective(name);
      const Collective collective{kind, has_root(kind) ? 1 : 0};
      const Schedule schedule = make_schedule(AlgorithmSpec{has_root(kind) ? "tree" : "ring", {}},
                                              ranks, Bytes{4000}, collective);
      for (const bool in_place : {true, false}) {
        const DeviceCase point{schedule, 1003, DataType::f32, ReduceOp::sum, in_place, collective};
        DeviceBuffers buffers(point, options.devices);
        const auto said = on_cuda_ranks(group, [&](Communicator& communicator) {
          const Rank rank = communicator.rank();
          const auto r = static_cast<std::size_t>(rank);
          communicator.perform(
              collective, buffers.in[r].part(point.before(rank).first, point.before(rank).count),
              buffers.out[r].part(point.after(rank).first, point.after(rank).count), point.op);
        });
        EXPECT_THAT(said, testing::Each(""));
        const std::vector<Bits> whole = buffers.outputs();
        const std::vector<Bits> expected = executed(point);
        for (Rank rank = 0; rank < ranks; ++rank) {
          const auto r = static_cast<std::size_t>(rank);
          const auto first = whole[r].begin() + point.after(rank).first * 4;
          EXPECT_EQ(Bits(first, first + point.after(rank).count * 4), expected[r])
              << name << ", " << to_string(executor) << ", rank " << rank;
        }
      }
    }
  }
}

TEST(CudaCommunicatorTest, FailsOnAllRanksWhenTheyDisagree) {
  SKIP_WITHOUT_DEVICE();
  const CudaWorldOptions options = options_for(2, CudaExecutor::graph);
  const DeviceCase point{make_schedule("ring", 2), 1000, DataType::f32, ReduceOp::sum, true};
  DeviceBuffers buffers(point, options.devices);
  const auto said = on_cuda_ranks(ring_group(options), [&](Communicator& communicator) {
    const auto r = static_cast<std::size_t>(communicator.rank());
    const Region region = buffers.in[r].part(0, 1000 - communicator.rank());
    communicator.all_reduce(region, region, point.op);
  });
  EXPECT_THAT(said,
              testing::Each(HasSubstr("disagree: rank 0 came for an all-reduce of 1000 f32")));
}

TEST(CudaCommunicatorTest, NamesTheRankThatDoesNotCome) {
  SKIP_WITHOUT_DEVICE();
  CudaWorldOptions options = options_for(3, CudaExecutor::graph);
  options.timeout = Seconds{0.2};
  const auto said = on_cuda_ranks(ring_group(options), [&](Communicator& communicator) {
    if (communicator.rank() != 1) communicator.barrier();
  });
  EXPECT_THAT(said[0], HasSubstr("rank(s) 1 did not come"));
  EXPECT_THAT(said[2], HasSubstr("rank(s) 1 did not come"));
}

}  // namespace
}  // namespace collbench
