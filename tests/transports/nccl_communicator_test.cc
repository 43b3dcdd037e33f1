#include "transports/nccl/nccl_communicator.h"

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/shared_library.h"
#include "transports/cuda/driver.h"
#include "transports/nccl/nccl_types.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Variables of the environment for one test; the stand-in reads them when it is called.
class NcclCommunicatorTest : public testing::Test {
 protected:
  void SetUp() override {
    set("COLLBENCH_CUDA_LIBRARY", GPU_STAND_IN);
    set("COLLBENCH_NCCL_LIBRARY", GPU_STAND_IN);
  }
  void TearDown() override {
    for (const std::string& name : set_) ::unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    ::setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  // Runs `body` as every rank on a thread and a device of its own. What they threw, "" for nothing.
  template <typename Body>
  std::vector<std::string> run(int ranks, const std::string& spec, Body body) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    const std::string id = make_nccl_id();
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        NcclOptions options;
        options.rank = rank;
        options.ranks = ranks;
        options.device = same_device_ ? 0 : rank;
        options.unique_id = id;
        options.settings = parse_nccl_settings(spec);
        options.timeout = timeout_;
        options.cancelled = cancelled_;
        try {
          const auto communicator = make_nccl_communicator(options);
          body(*communicator);
        } catch (const std::exception& error) {
          errors[static_cast<std::size_t>(rank)] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  Seconds timeout_{20};
  bool same_device_ = false;
  std::function<bool()> cancelled_;

 private:
  std::vector<std::string> set_;
};

// A vector on the device of a communicator.
struct DeviceVector {
  DeviceVector(Communicator& communicator, std::int64_t n, float value)
      : count(n), memory(communicator.allocate({4 * n})) {
    fill(value);
  }
  Region region() const { return {memory.get(), count, DataType::f32}; }
  void fill(float value) const {
    const std::vector<float> host(static_cast<std::size_t>(count), value);
    CudaDriver::instance().upload(memory.get(), reinterpret_cast<const std::byte*>(host.data()),
                                  {4 * count});
  }
  bool is(float value) const {
    std::vector<float> host(static_cast<std::size_t>(count));
    CudaDriver::instance().download(reinterpret_cast<std::byte*>(host.data()), memory.get(),
                                    {4 * count});
    return host == std::vector<float>(host.size(), value);
  }
  float at(std::int64_t element) const {
    float value = 0;
    CudaDriver::instance().download(reinterpret_cast<std::byte*>(&value),
                                    memory.get() + 4 * element, {4});
    return value;
  }
  std::int64_t count;
  std::shared_ptr<std::byte> memory;
};

float term(Rank rank) { return static_cast<float>(rank + 1); }

constexpr std::int64_t large = 300'000;  // more than the stand-in moves at once

TEST_F(NcclCommunicatorTest, AddsUpInEveryMode) {
  for (const char* spec : {"nccl", "nccl:nonblocking", "nccl:graph", "nccl:register",
                           "nccl:parts=7", "nccl:graph:parts=3:nonblocking:register"}) {
    const auto errors = run(4, spec, [&](Communicator& communicator) {
      const DeviceVector in(communicator, large, term(communicator.rank()));
      const DeviceVector out(communicator, large, 0);
      for (int again = 0; again < 3; ++again) {
        communicator.all_reduce(in.region(), out.region(), ReduceOp::sum);
        EXPECT_TRUE(out.is(10)) << spec;
        EXPECT_TRUE(in.is(term(communicator.rank()))) << spec;
      }
      communicator.all_reduce(in.region(), in.region(), ReduceOp::max);
      EXPECT_TRUE(in.is(4)) << spec;
    });
    EXPECT_THAT(errors, testing::Each("")) << spec;
  }
}

TEST_F(NcclCommunicatorTest, WhatIsRefusedLeavesNothingOpenForTheNextCall) {
  for (const char* spec : {"nccl", "nccl:parts=4", "nccl:graph", "nccl:graph:parts=2"}) {
    const auto errors = run(3, spec, [&](Communicator& communicator) {
      const DeviceVector in(communicator, 1000, term(communicator.rank()));
      const DeviceVector out(communicator, 1000, 0);
      EXPECT_THROW(communicator.all_reduce(in.region(), out.region(), ReduceOp::avg), Unavailable);
      EXPECT_THROW(communicator.estimate(in.region(), out.region(), ReduceOp::avg), Unavailable);
      communicator.all_reduce(in.region(), out.region(), ReduceOp::sum);
      EXPECT_TRUE(out.is(6)) << spec;
    });
    EXPECT_THAT(errors, testing::Each("")) << spec;
  }
  const auto errors = run(3, "nccl", [&](Communicator& communicator) {
    const Collective scatter{CollectiveKind::reduce_scatter};
    const DeviceVector in(communicator, 1000, term(communicator.rank()));  // shares are unequal
    const Region all = in.region();
    const std::int64_t first = share_start(communicator.rank(), 3, all.count);
    const Region own = all.part(first, share_start(communicator.rank() + 1, 3, all.count) - first);
    EXPECT_THROW(communicator.perform(scatter, all, own, ReduceOp::avg), Unavailable);
    communicator.perform(scatter, all, own, ReduceOp::sum);
    EXPECT_EQ(in.at(first), 6);
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST_F(NcclCommunicatorTest, BroadcastsAndMeets) {
  const auto errors = run(3, "nccl", [](Communicator& communicator) {
    const DeviceVector data(communicator, large, term(communicator.rank()));
    communicator.broadcast(data.region(), 2);
    EXPECT_TRUE(data.is(3));
    communicator.barrier();
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST_F(NcclCommunicatorTest, PlaysEveryCollectiveWithEqualSharesAndOthers) {
  constexpr int ranks = 3;
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
                                    CollectiveKind::broadcast, CollectiveKind::reduce}) {
    for (const std::int64_t count : {std::int64_t{1}, std::int64_t{900}, large + 1}) {
      for (const bool in_place : {true, false}) {
        const Collective collective{kind, has_root(kind) ? 1 : 0};
        const auto errors = run(ranks, "nccl", [&](Communicator& communicator) {
          const Rank rank = communicator.rank();
          const Elements before = elements_before(collective, rank, ranks, count);
          const Elements after = elements_after(collective, rank, ranks, count);
          const DeviceVector in(communicator, count, term(rank));
          const DeviceVector other(communicator, count, 0);
          const DeviceVector& out = in_place ? in : other;
          communicator.perform(collective, in.region().part(before.first, before.count),
                               out.region().part(after.first, after.count), ReduceOp::sum);
          for (const std::int64_t at : {std::int64_t{0}, after.count / 2, after.count - 1}) {
            if (at < 0 || at >= after.count) continue;
            Rank owner = collective.root;
            while (kind == CollectiveKind::all_gather && share_start(owner + 1, ranks, count) <= at)
              ++owner;
            const float expected = adds(kind) ? 6 : term(owner);
            EXPECT_EQ(out.at(after.first + at), expected)
                << to_string(kind) << " " << count << " rank " << rank << " element " << at;
          }
        });
        EXPECT_THAT(errors, testing::Each(""));
      }
    }
  }
  const auto errors = run(2, "nccl:graph", [](Communicator& communicator) {
    const DeviceVector data(communicator, 4, 1);
    communicator.perform({CollectiveKind::reduce}, data.region(),
                         communicator.rank() == 0 ? data.region() : data.region().part(0, 0),
                         ReduceOp::sum);
  });
  EXPECT_THAT(errors, testing::Each(HasSubstr("are for all-reduces only")));
}

TEST_F(NcclCommunicatorTest, TellsNcclsOwnEstimateWhereItCan) {
  const auto errors = run(2, "nccl", [](Communicator& communicator) {
    const DeviceVector data(communicator, 20'000, 1);
    const auto estimate = communicator.estimate(data.region(), data.region(), ReduceOp::sum);
    ASSERT_TRUE(estimate.has_value());
    EXPECT_NEAR(estimate->time.count(), 30e-6, 1e-9);
    EXPECT_EQ(estimate->by, "ncclGroupSimulateEnd");
    EXPECT_TRUE(data.is(1));  // nothing was moved
  });
  EXPECT_THAT(errors, testing::Each(""));
  run(2, "nccl:nonblocking", [](Communicator& communicator) {
    const DeviceVector data(communicator, 20'000, 1);
    EXPECT_FALSE(communicator.estimate(data.region(), data.region(), ReduceOp::sum));
  });
}

TEST_F(NcclCommunicatorTest, DescribesWhatWasForced) {
  run(1, "nccl:channels=4:graph", [](Communicator& communicator) {
    EXPECT_EQ(communicator.description(), "NCCL 2.28.9, 4 channels, CUDA graph");
  });
}

TEST_F(NcclCommunicatorTest, ForgetsGraphsOfMemoryThatIsGone) {
  const auto errors = run(2, "nccl:graph:register", [](Communicator& communicator) {
    for (int again = 0; again < 5; ++again) {  // addresses are likely to come back
      const DeviceVector data(communicator, 1000, term(communicator.rank()));
      communicator.all_reduce(data.region(), data.region(), ReduceOp::sum);
      EXPECT_TRUE(data.is(3));
    }
  });
  EXPECT_THAT(errors, testing::Each(""));
}

TEST_F(NcclCommunicatorTest, KeepsTheGraphsOfTheLastCallsOnly) {
  const SharedLibrary stand_in(GPU_STAND_IN);
  int (*graphs)() = nullptr;
  stand_in.bind(graphs, "stand_in_graphs");
  const int before = graphs();
  const auto errors = run(1, "nccl:graph", [&](Communicator& communicator) {
    const DeviceVector data(communicator, 1000, 1);
    for (int turn = 0; turn < 2; ++turn) {
      for (std::int64_t count = 1; count <= 600; ++count) {
        const Region part = data.region().part(0, count);
        communicator.all_reduce(part, part, ReduceOp::sum);
      }
      EXPECT_LE(graphs() - before, 256);
    }
  });
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_EQ(graphs(), before);
}

TEST_F(NcclCommunicatorTest, RefusesMemoryOfTheHost) {
  const auto errors = run(1, "nccl", [](Communicator& communicator) {
    float host = 1;
    const Region region{reinterpret_cast<std::byte*>(&host), 1, DataType::f32};
    communicator.all_reduce(region, region, ReduceOp::sum);
  });
  EXPECT_THAT(errors[0], HasSubstr("this buffer is not"));
}

TEST_F(NcclCommunicatorTest, SaysSoWhenMemoryRunsOut) {
  const auto errors = run(1, "nccl", [](Communicator& communicator) {
    communicator.allocate(Bytes{std::int64_t{1} << 40});
  });
  EXPECT_THAT(errors[0], AllOf(HasSubstr("out of memory"), HasSubstr("use smaller vectors")));
}

void reduce_often(Communicator& communicator) {
  const DeviceVector data(communicator, 1000, 1);
  for (int again = 0; again < 3; ++again) {
    communicator.all_reduce(data.region(), data.region(), ReduceOp::sum);
  }
}

TEST_F(NcclCommunicatorTest, NamesTheRankWhoseNcclReportsAnError) {
  set("STAND_IN_FAULT", "async:1");
  timeout_ = Seconds{3};
  const auto errors = run(3, "nccl", reduce_often);
  EXPECT_THAT(errors[1], AllOf(HasSubstr("rank 1 of 3"), HasSubstr("remote process exited")));
  EXPECT_NE(errors[0], "");  // not a hang
  EXPECT_NE(errors[2], "");
}

TEST_F(NcclCommunicatorTest, EndsWithinTheTimeoutWhenAnAllReduceHangs) {
  set("STAND_IN_FAULT", "hang:0");
  timeout_ = Seconds{0.5};
  for (const char* spec : {"nccl", "nccl:nonblocking", "nccl:graph"}) {
    const auto errors = run(2, spec, reduce_often);
    for (const std::string& error : errors) {
      EXPECT_THAT(error, HasSubstr("not done within 500 ms")) << spec;
    }
  }
}

TEST_F(NcclCommunicatorTest, EndsWithinTheTimeoutWhenTheCallItselfHangs) {
  set("STAND_IN_FAULT", "call-hang:1");
  timeout_ = Seconds{0.5};
  const auto errors = run(2, "nccl", reduce_often);
  EXPECT_THAT(errors[1], AllOf(HasSubstr("ncclAllReduce failed"), HasSubstr("not done within")));
  EXPECT_NE(errors[0], "");
}

TEST_F(NcclCommunicatorTest, EndsWithinTheTimeoutWhenARankNeverJoins) {
  set("STAND_IN_FAULT", "init-hang:1");
  timeout_ = Seconds{0.5};
  for (const char* spec : {"nccl", "nccl:nonblocking"}) {
    const auto errors = run(2, spec, reduce_often);
    for (const std::string& error : errors) {
      EXPECT_THAT(error, HasSubstr("ncclCommInitRankConfig failed")) << spec;
    }
    EXPECT_THAT(errors[1], HasSubstr("not done within 500 ms")) << spec;
  }
}

TEST_F(NcclCommunicatorTest, EndsEvenIfTheAbortHangs) {
  set("STAND_IN_FAULT", "abort-hang:0");
  timeout_ = Seconds{0.3};
  EXPECT_THAT(run(2, "nccl", reduce_often)[0], HasSubstr("not done within"));
}

TEST_F(NcclCommunicatorTest, GivesUpAtOnceWhenItsTeamDoes) {
  set("STAND_IN_FAULT", "hang:0");
  const auto start = std::chrono::steady_clock::now();
  cancelled_ = [start] {
    return std::chrono::steady_clock::now() - start > std::chrono::milliseconds(300);
  };
  EXPECT_THAT(run(2, "nccl", reduce_often), testing::Each(HasSubstr("the team gave up")));
}

TEST_F(NcclCommunicatorTest, GivesNcclsWordsForACallThatFails) {
  set("STAND_IN_FAULT", "enqueue:0");
  timeout_ = Seconds{1};
  EXPECT_THAT(run(2, "nccl:parts=2", reduce_often)[0],
              HasSubstr("ncclAllReduce failed: unhandled system error (the stand-in was told"));
}

TEST_F(NcclCommunicatorTest, StaysUnusableAfterItsFirstFailure) {
  set("STAND_IN_FAULT", "enqueue:0");
  const auto errors = run(1, "nccl", [this](Communicator& communicator) {
    const DeviceVector data(communicator, 10, 1);
    EXPECT_THROW(communicator.all_reduce(data.region(), data.region(), ReduceOp::sum),
                 TransportError);
    set("STAND_IN_FAULT", "");
    communicator.barrier();
  });
  EXPECT_THAT(errors[0], HasSubstr("ncclAllReduce failed"));
}

TEST_F(NcclCommunicatorTest, SaysThatRanksCannotShareAGpuInOneProcess) {
  same_device_ = true;
  const auto errors = run(2, "nccl", reduce_often);
  EXPECT_THAT(errors, testing::Each(AllOf(HasSubstr("Duplicate GPU"), HasSubstr("NCCL_HOSTID"))));
}

TEST_F(NcclCommunicatorTest, IsUnavailableWithoutADeviceOfThatNumber) {
  NcclOptions options;
  options.device = 8;
  options.unique_id = make_nccl_id();
  EXPECT_THROW(make_nccl_communicator(options), InvalidArgument);
}

TEST(NcclTypesTest, AverageOfFloatsNeedsAPowerOfTwo) {
  EXPECT_EQ(nccl_op(ReduceOp::avg, DataType::f32, 4), 4);
  EXPECT_EQ(nccl_op(ReduceOp::avg, DataType::i32, 3), 4);
  EXPECT_THROW(nccl_op(ReduceOp::avg, DataType::f32, 3), Unavailable);
  EXPECT_EQ(nccl_op(ReduceOp::max, DataType::f16, 3), 2);
  EXPECT_EQ(nccl_op(ReduceOp::min, DataType::f16, 3), 3);
  EXPECT_EQ(nccl_type(DataType::bf16), 9);
}

}  // namespace
}  // namespace collbench
