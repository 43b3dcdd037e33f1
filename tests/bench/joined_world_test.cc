// Worlds of ranks that were started one by one. Each rank is a thread here, with a world of its
// own, as if it were a process.
#include "transports/world/joined_world.h"

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/team_cases.h"

#include "bench/measure/team.h"
#include "core/error.h"
#include "transports/world/agreement.h"
#include "transports/world/bootstrap_sockets.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr Seconds patience{20};

/// Runs `use` on each of `ranks` ranks, which meet at rank 0. What each threw, or "".
std::vector<std::string> on_joined_teams(int ranks, const std::function<void(JoinedTeam&)>& use) {
  const int port = Reception("127.0.0.1:0", "rank 0", 1).port();
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      JoinSpec job;
      job.backend = "grpc";
      job.source = "a test";
      job.rank = rank;
      job.hosts.resize(static_cast<std::size_t>(ranks));
      job.listen = "127.0.0.1:0";
      job.bootstrap = "127.0.0.1:" + std::to_string(port);
      job.transport = "raw";
      job.token = "the token of these ranks";
      job.timeout = patience;
      try {
        JoinedTeam team(job);
        use(team);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

std::vector<std::string> on_joined(int ranks, const std::function<void(JoinedWorld&)>& use) {
  return on_joined_teams(ranks, [&](JoinedTeam& team) { use(team.world()); });
}

WorldSpec spec_on(const std::string& backend, int ranks) {
  WorldSpec spec;
  spec.backend = backend;
  spec.ranks = ranks;
  spec.algorithm = "ring";
  spec.bytes = Bytes{4000};
  spec.isolate = spec.private_buffers = backend == "shm";
  return spec;
}

/// Element i of rank r is r + 1 + i, so that it becomes the sum of all ranks' numbers and n i.
void expect_sums(const WorldSpec& spec, RankContext& context) {
  Communicator& communicator = communicator_for(find_backend(spec.backend), spec, context);
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(context.rank + 1) + static_cast<float>(i);
  }
  const Region region{reinterpret_cast<std::byte*>(values.data()), std::ssize(values),
                      DataType::f32};
  communicator.all_reduce(region, region, ReduceOp::sum);
  const int n = context.ranks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], static_cast<float>(n * (n + 1) / 2 + n * static_cast<int>(i)))
        << "element " << i << " of rank " << context.rank << " over " << spec.backend;
  }
}

void sum_over(const std::string& backend, JoinedWorld& world) {
  const WorldSpec spec = spec_on(backend, world.ranks());
  const auto run = [&](RankContext& context) { expect_sums(spec, context); };
  world.on_all(spec, patience, {.run = run, .order = {}, .answer = {}});
}

TEST(JoinedWorldTest, MeasuresOverMessagesAndSharedMemoryInTurn) {
  for (const int ranks : {2, 3, 5}) {
    const auto failures = on_joined(ranks, [](JoinedWorld& world) {
      for (const char* backend : {"grpc", "shm", "shm", "grpc", "shm"}) sum_over(backend, world);
    });
    EXPECT_THAT(failures, Each("")) << ranks;
  }
}

TEST(JoinedWorldTest, KnowsWhereItsRanksRun) {
  const auto failures = on_joined(3, [](JoinedWorld& world) {
    EXPECT_EQ(world.ranks(), 3);
    EXPECT_EQ(world.own_ranks().first, world.rank());
    EXPECT_TRUE(world.one_machine());
    EXPECT_EQ(world.nodes(), 1);
    EXPECT_EQ(world.ranks_here(), 3);
    EXPECT_EQ(world.first_here(), world.rank() == 0);
    EXPECT_EQ(world.processors(), world.processors_of_rank_0()) << "one machine has them all";
    EXPECT_EQ(world.processes().size(), 2U) << "of the other ranks";
    EXPECT_EQ(world.hosts().size(), 3U);
    EXPECT_THAT(world.hosts(), Each(HasSubstr("127.0.0.1:")));
  });
  EXPECT_THAT(failures, Each(""));
}

TEST(JoinedWorldTest, HandsOutTheTextOfRankZero) {
  const auto failures = on_joined(4, [](JoinedWorld& world) {
    const std::string long_text(100'000, 'x');
    EXPECT_EQ(world.from_rank_0(world.rank() == 0 ? long_text + "end" : ""), long_text + "end");
    EXPECT_EQ(world.from_rank_0(world.rank() == 0 ? "" : "another's"), "");
  });
  EXPECT_THAT(failures, Each(""));
}

TEST(JoinedWorldTest, StopsOnAllRanksWhereOneIsAskedTo) {
  const auto failures = on_joined(3, [](JoinedWorld& world) {
    EXPECT_EQ(world.agree_to_stop(""), "");
    const std::string mine = world.rank() == 0 ? "" : "SIGINT";
    EXPECT_EQ(world.agree_to_stop(mine), world.rank() == 1 ? "SIGINT" : "SIGINT at rank 1")
        << "the first of those that were asked";
    EXPECT_EQ(world.agree_to_stop(""), "");
  });
  EXPECT_THAT(failures, Each(""));
}

TEST(JoinedWorldTest, AFailureInSharedMemoryEndsTheWaitingOfTheOthersWithItsReason) {
  const auto failures = on_joined(3, [](JoinedWorld& world) {
    const WorldSpec spec = spec_on("shm", world.ranks());
    const auto run = [&](RankContext& context) {
      if (context.rank == 1) throw InvalidArgument("rank 1 has no such file");
      expect_sums(spec, context);
    };
    EXPECT_THAT([&] { world.on_all(spec, patience, {.run = run, .order = {}, .answer = {}}); },
                testing::ThrowsMessage<Error>(HasSubstr("rank 1 has no such file")))
        << world.rank();
    EXPECT_THAT([&] { sum_over("grpc", world); },
                testing::ThrowsMessage<TransportError>(HasSubstr("cannot go on")));
  });
  EXPECT_THAT(failures, Each(""));
}

TEST(JoinedWorldTest, GoesOnAfterACaseThatAllRanksRefuse) {
  const auto failures = on_joined_teams(3, [](JoinedTeam& team) {
    for (const char* backend : {"grpc", "shm", "grpc"}) {
      Case point = team_case(backend, "no-such", 3);
      point.isolate = find_backend(backend).isolates;
      EXPECT_THAT([&] { team.measure(point, quick()); },
                  testing::ThrowsMessage<InvalidArgument>(HasSubstr("no-such")));
      point.algorithm = "ring";
      EXPECT_EQ(team.measure(point, quick()).latency_ns.size(), 10U) << backend;
    }
  });
  EXPECT_THAT(failures, Each(""));
}

TEST(JoinedWorldTest, EndsWhereOneRankRefusesAndSaysWhy) {
  const auto failures = on_joined(3, [](JoinedWorld& world) {
    const auto run = [](RankContext& context) {
      const auto prepare = [&] {
        if (context.rank == 1) throw Unavailable("rank 1 has no GPU");
      };
      together(*context.rendezvous, prepare, &context.all_refused);
    };
    EXPECT_THROW(world.on_all(spec_on("grpc", world.ranks()), patience,
                              {.run = run, .order = {}, .answer = {}}),
                 Error);
    EXPECT_THAT(
        [&] { sum_over("grpc", world); },
        testing::ThrowsMessage<TransportError>(HasSubstr("the ranks cannot go on after: rank 1")));
  });
  EXPECT_THAT(failures, Each(""));
}

/// Looks at the arena once more when it ends, as communicators of GPUs do.
class LastLook final : public Communicator {
 public:
  LastLook(std::unique_ptr<Communicator> over, const std::byte* arena, int& looks)
      : over_(std::move(over)), arena_(arena), looks_(looks) {}
  ~LastLook() override {
    if (*const_cast<const volatile std::byte*>(arena_) < std::byte{255}) ++looks_;
  }
  Rank rank() const override { return over_->rank(); }
  int ranks() const override { return over_->ranks(); }
  Seconds now() const override { return over_->now(); }
  std::string description() const override { return over_->description(); }
  void all_reduce(Region in, Region out, ReduceOp op) override { over_->all_reduce(in, out, op); }
  void broadcast(Region region, Rank root) override { over_->broadcast(region, root); }
  void barrier() override { over_->barrier(); }

 private:
  std::unique_ptr<Communicator> over_;
  const std::byte* arena_;
  int& looks_;
};

TEST(JoinedWorldTest, ACommunicatorEndsBeforeTheMemoryThatItLiesInEvenAfterAFailure) {
  std::vector<int> looks(2);
  const auto failures = on_joined(2, [&](JoinedWorld& world) {
    const WorldSpec spec = spec_on("shm", world.ranks());
    const auto run = [&](RankContext& context) {
      expect_sums(spec, context);
      context.communicator =
          std::make_unique<LastLook>(std::move(context.communicator), context.arena,
                                     looks[static_cast<std::size_t>(context.rank)]);
      throw InvalidArgument("no such file");
    };
    EXPECT_THAT([&] { world.on_all(spec, patience, {.run = run, .order = {}, .answer = {}}); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr("no such file")));
  });
  EXPECT_THAT(failures, Each(""));
  EXPECT_THAT(looks, Each(1));
}

TEST(JoinedWorldTest, AnAddressOfAnotherMachineIsNotTakenForOneThatIsInUse) {
  JoinSpec job;
  job.backend = "grpc";
  job.hosts = {"192.0.2.1:7101", "192.0.2.2:7101"};  // of no machine: RFC 5737
  job.listen = job.hosts[0];
  job.token = "the token of these ranks";
  job.timeout = patience;
  EXPECT_THAT([&] { JoinedWorld world(job); },
              testing::ThrowsMessage<TransportError>(
                  testing::AllOf(HasSubstr("cannot listen on 192.0.2.1:7101"),
                                 HasSubstr("no address of this machine; is rank 0 to run here?"),
                                 testing::Not(HasSubstr("twice")))));
}

TEST(JoinedWorldTest, AnotherTransportThanThatOfTheJobIsRefused) {
  const auto failures = on_joined(2, [](JoinedWorld& world) {
    WorldSpec spec = spec_on("grpc", world.ranks());
    spec.transport = "tcp";
    EXPECT_THAT([&] { world.on_all(spec, patience, {.run = {}, .order = {}, .answer = {}}); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr("--transport tcp")));
  });
  EXPECT_THAT(failures, Each(""));
}

}  // namespace
}  // namespace collbench
