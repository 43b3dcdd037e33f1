// Every collective of every algorithm, played for real on threads: what the definition says, in
// place and out of place, for counts that do not divide by the ranks.
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/thread_ranks.h"

#include "algorithms/fusion.h"
#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

constexpr float untouched = -7;

// Small whole numbers, so that sums are exact in any order.
float term_of(Rank rank, std::int64_t at) { return static_cast<float>((at * 7 + rank * 13) % 101); }

float sum_at(int ranks, std::int64_t at) {
  float sum = 0;
  for (Rank r = 0; r < ranks; ++r) sum += term_of(r, at);
  return sum;
}

// What the element `at` must be after the collective, of a share of `count` elements.
float expected_at(const Collective& collective, int ranks, std::int64_t count, std::int64_t at) {
  if (adds(collective.kind)) return sum_at(ranks, at);
  if (collective.kind == CollectiveKind::broadcast) return term_of(collective.root, at);
  Rank owner = 0;
  while (share_start(collective, owner + 1, ranks, count) <= at) ++owner;
  return term_of(owner, at);
}

CollectiveChoice choice_of(const AlgorithmSpec& spec, int ranks) {
  return [spec, ranks](Bytes bytes, const Collective& collective) -> std::optional<Schedule> {
    return make_schedule(spec, ranks, bytes, collective);
  };
}

// Plays twice, the second time by the plan of the first, and compares every element.
void expect_right(Communicator& communicator, const Collective& collective, std::int64_t count,
                  bool in_place) {
  const Rank rank = communicator.rank();
  const int ranks = communicator.ranks();
  const Elements before = elements_before(collective, rank, ranks, count);
  const Elements after = elements_after(collective, rank, ranks, count);
  const auto lies_in = [](const Elements& part, std::int64_t i) {
    return part.first <= i && i < part.first + part.count;
  };
  std::vector<float> input(static_cast<std::size_t>(count), untouched);
  std::vector<float> output(static_cast<std::size_t>(count), untouched);
  for (int time = 0; time < 2; ++time) {
    communicator.barrier();
    for (std::int64_t i = 0; i < count; ++i) {
      input[static_cast<std::size_t>(i)] = lies_in(before, i) ? term_of(rank, i) : untouched;
    }
    communicator.barrier();
    const Region in = float_region(input);
    const Region out = in_place ? in : float_region(output);
    communicator.perform(collective, in.part(before.first, before.count),
                         out.part(after.first, after.count), ReduceOp::sum);
    const std::vector<float>& result = in_place ? input : output;
    for (std::int64_t i = 0; i < count; ++i) {
      const float found = result[static_cast<std::size_t>(i)];
      if (lies_in(after, i)) {
        EXPECT_EQ(found, expected_at(collective, ranks, count, i))
            << "rank " << rank << " at " << i;
      } else if (!in_place) {
        EXPECT_EQ(found, untouched) << "rank " << rank << " at " << i;
      }
      if (!in_place && lies_in(before, i)) {
        EXPECT_EQ(input[static_cast<std::size_t>(i)], term_of(rank, i)) << "input written";
      }
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Vectors of several lengths, in place and out of place, on one set of ranks.
void expect_right(const AlgorithmSpec& spec, int ranks, const Collective& collective) {
  const Schedule whole = make_schedule(spec, ranks);
  on_thread_ranks(ranks, [&](std::unique_ptr<Endpoint> endpoint) {
    const auto communicator =
        make_schedule_communicator([&](Bytes, DataType) { return whole; }, std::move(endpoint),
                                   "test", choice_of(spec, ranks));
    for (const std::int64_t count : {0, 1, 5, 64, 1003, 40000}) {
      for (const bool in_place : {true, false}) {
        SCOPED_TRACE(spec.name + ", " + std::to_string(ranks) + " ranks, count " +
                     std::to_string(count) + (in_place ? ", in place" : ", out of place"));
        expect_right(*communicator, collective, count, in_place);
      }
    }
  });
}

class PlayedCollective : public testing::TestWithParam<std::string> {};

TEST_P(PlayedCollective, LeavesWhatItsDefinitionSays) {
  for (const AlgorithmInfo& info : algorithms()) {
    const CollectiveKind kind = parse_collective(GetParam());
    if (!info.implements(kind)) continue;
    // shm_test.cc plays the all-reduces of all others.
    if (kind == CollectiveKind::all_reduce && info.name != "ring") continue;
    for (const int ranks : {1, 2, 3, 4, 7, 8}) {
      const AlgorithmSpec spec{std::string(info.name), {}};
      const Collective collective{kind, has_root(kind) ? ranks - 1 : 0};
      try {
        make_schedule(spec, ranks, Bytes{0}, collective);
      } catch (const InvalidArgument&) {
        continue;  // tests/algorithms says why
      }
      expect_right(spec, ranks, collective);
      if (HasFailure()) return;
    }
  }
}

// Shares without elements among large and small ones, and the same call with equal shares between.
TEST(UnevenShares, AreWhatTheCountsSayByEveryAlgorithm) {
  for (const AlgorithmInfo& info : algorithms()) {
    if (!info.has_shares) continue;
    const AlgorithmSpec spec{std::string(info.name), {}};
    const Schedule whole = make_schedule(spec, 4);
    on_thread_ranks(4, [&](std::unique_ptr<Endpoint> endpoint) {
      const auto communicator = make_schedule_communicator(
          [&](Bytes, DataType) { return whole; }, std::move(endpoint), "test", choice_of(spec, 4));
      for (const auto kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
        for (const std::vector<std::int64_t>& counts :
             {std::vector<std::int64_t>{0, 0, 1, 0}, {700, 0, 3, 5001}, {0, 40'000, 1, 0}}) {
          const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
          for (const bool in_place : {true, false}) {
            SCOPED_TRACE(spec.name + (in_place ? " in place " : " out of place ") +
                         std::to_string(sum));
            expect_right(*communicator, {kind, 0, counts}, sum, in_place);
            expect_right(*communicator, {kind}, sum, in_place);
          }
        }
      }
    });
    if (testing::Test::HasFailure()) return;
  }
}

TEST(UnevenShares, ThatAreNotTheVectorAreRefused) {
  on_thread_ranks(2, [&](std::unique_ptr<Endpoint> endpoint) {
    const auto communicator =
        make_schedule_communicator([&](Bytes, DataType) { return make_schedule("ring", 2); },
                                   std::move(endpoint), "test", choice_of({"ring", {}}, 2));
    std::vector<float> vector(9);
    const Region all = float_region(vector);
    const auto message = [&](const Collective& collective) {
      try {
        communicator->perform(collective, all, all, ReduceOp::sum);
      } catch (const InvalidArgument& error) {
        return std::string(error.what());
      }
      return std::string("played");
    };
    const CollectiveKind kind = CollectiveKind::reduce_scatter;
    EXPECT_THAT(message({kind, 0, {4, 4}}),
                testing::HasSubstr("of 9 elements among 2 ranks has 2 counts, 8 together"));
    EXPECT_THAT(message({kind, 0, {4, 4, 1}}), testing::HasSubstr("has 3 counts"));
    EXPECT_THAT(message({kind, 0, {14, -5}}), testing::HasSubstr("give one of at least 0 for"));
    EXPECT_THAT(message({CollectiveKind::reduce, 0, {4, 5}}), testing::HasSubstr("give one of"));
  });
}

INSTANTIATE_TEST_SUITE_P(All, PlayedCollective,
                         testing::Values("all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                         "reduce"),
                         [](const auto& named) {
                           std::string name = named.param;
                           name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
                           return name;
                         });

// The halves of direct, whole and with an idle round behind, which keeps plans from fusing them.
Schedule half_of_direct(int ranks, Bytes bytes, CollectiveKind kind, bool idles) {
  const Schedule half = make_schedule(AlgorithmSpec{"direct", {}}, ranks, bytes, {kind});
  const auto stretched = [half](Rank r, int t, Round& out) {
    if (t == 0) half.round(r, t, out);
  };
  if (!idles) return half;
  return {"stretched", {ranks, half.chunks(), 2}, stretched, half.partition()};
}

// What every rank has after a collective of values that sums round.
std::vector<std::vector<float>> played(const Schedule& schedule, CollectiveKind kind,
                                       std::int64_t count, bool in_place, ReduceOp op) {
  const int ranks = schedule.ranks();
  std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
  on_thread_ranks(ranks, [&](std::unique_ptr<Endpoint> endpoint) {
    const Rank rank = endpoint->rank();
    const Elements before = elements_before({kind}, rank, ranks, count);
    const Elements after = elements_after({kind}, rank, ranks, count);
    const auto communicator = make_schedule_communicator(
        [&](Bytes, DataType) { return schedule; }, std::move(endpoint), "test",
        [&](Bytes, const Collective&) { return std::optional(schedule); });
    std::vector<float> input(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      input[static_cast<std::size_t>(i)] = 1.0F / static_cast<float>(3 + i * ranks + rank);
    }
    std::vector<float> output(input.size());
    const Region in = float_region(input).part(before.first, before.count);
    const Region out = float_region(in_place ? input : output).part(after.first, after.count);
    communicator->perform({kind}, in, out, op);
    const float* const first = reinterpret_cast<const float*>(out.data);
    results[static_cast<std::size_t>(rank)].assign(first, first + out.count);
  });
  return results;
}

TEST(Fusion, OfTheHalvesOfDirectGivesTheBitsOfTheirRounds) {
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for (const int ranks : {2, 3, 7}) {
      // Shown to all at once, one pass of some units, and one whose outputs go around the caches.
      for (const std::int64_t count : {5, 510, 3000, 270001 * ranks}) {
        if (ranks == 7 && count > 3000) break;
        const Bytes bytes{count * 4};
        const Schedule half = half_of_direct(ranks, bytes, kind, false);
        const Schedule stretched = half_of_direct(ranks, bytes, kind, true);
        for (const bool in_place : {true, false}) {
          const auto fusion = fuse(half, count, 4, {kind}, in_place);
          ASSERT_TRUE(fusion);
          EXPECT_EQ(fusion->shown, count <= 510 || (kind == CollectiveKind::all_gather &&
                                                    count <= 3000 && ranks == 7));
          ASSERT_FALSE(fuse(stretched, count, 4, {kind}, in_place));
          for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
            ASSERT_EQ(played(half, kind, count, in_place, op),
                      played(stretched, kind, count, in_place, op))
                << to_string(kind) << ", " << ranks << " ranks, count " << count
                << (in_place ? ", in place" : ", out of place");
            if (count > 3000) break;
          }
        }
      }
    }
  }
}

TEST(Fusion, IsOfCollectivesInWhichEveryRankHasAPart) {
  for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
    const Schedule schedule =
        make_schedule(AlgorithmSpec{"reduce-broadcast", {}}, 4, Bytes{4000}, Collective{kind});
    EXPECT_FALSE(fuse(schedule, 1000, 4, {kind}));
  }
  const Schedule ring = make_schedule(AlgorithmSpec{"ring", {}}, 4, Bytes{4000},
                                      Collective{CollectiveKind::reduce_scatter});
  EXPECT_FALSE(fuse(ring, 1000, 4, {CollectiveKind::reduce_scatter}));
}

TEST(Perform, AveragesTheShareThatIsKept) {
  constexpr int ranks = 4;
  for (const char* name : {"ring", "halving-doubling", "direct"}) {
    const AlgorithmSpec spec{name, {}};
    on_thread_ranks(ranks, [&](std::unique_ptr<Endpoint> endpoint) {
      const Rank rank = endpoint->rank();
      const auto communicator =
          make_schedule_communicator([&](Bytes, DataType) { return make_schedule(spec, ranks); },
                                     std::move(endpoint), "test", choice_of(spec, ranks));
      std::vector<float> input(16, static_cast<float>(rank));
      std::vector<float> output(4);
      communicator->perform({CollectiveKind::reduce_scatter}, float_region(input),
                            float_region(output), ReduceOp::avg);
      EXPECT_THAT(output, testing::Each(1.5F)) << name;
    });
  }
}

TEST(ScheduleCommunicator, RefusesAScheduleOfOtherRanksOnEveryRank) {
  for (const int planned : {2, 4}) {
    on_thread_ranks(3, [&](std::unique_ptr<Endpoint> endpoint) {
      const auto communicator =
          make_schedule_communicator(make_schedule("ring", planned), std::move(endpoint), "test");
      std::vector<float> vector(10);
      const Region all = float_region(vector);
      EXPECT_THAT([&] { communicator->all_reduce(all, all, ReduceOp::sum); },
                  testing::ThrowsMessage<InvalidArgument>("test: the schedule ring is for " +
                                                          std::to_string(planned) +
                                                          " ranks, and there are 3"));
    });
  }
}

TEST(Perform, RefusesPartsOfNoVectorAndRootsThatAreNoRanks) {
  on_thread_ranks(1, [&](std::unique_ptr<Endpoint> endpoint) {
    const auto communicator =
        make_schedule_communicator(make_schedule("ring", 1), std::move(endpoint), "test");
    std::vector<float> input(4);
    std::vector<float> output(3);
    EXPECT_THAT(
        [&] {
          communicator->perform({CollectiveKind::reduce_scatter}, float_region(input),
                                float_region(output), ReduceOp::sum);
        },
        testing::ThrowsMessage<InvalidArgument>(
            testing::HasSubstr("reduce-scatter of 4 elements: in must have 4 and out 4")));
    EXPECT_THROW(communicator->perform({CollectiveKind::broadcast, 1}, float_region(input),
                                       float_region(input), ReduceOp::sum),
                 InvalidArgument);
    EXPECT_THAT(
        [&] {
          communicator->perform({CollectiveKind::reduce}, float_region(input), float_region(input),
                                ReduceOp::sum);
        },
        testing::ThrowsMessage<Unavailable>(testing::HasSubstr("test has no reduce")));
  });
}

}  // namespace
}  // namespace collbench
