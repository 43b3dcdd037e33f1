#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/team_cases.h"

#include "bench/measure/measure_case.h"
#include "bench/measure/team.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

std::string words_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(ThreadTeamTest, OneTeamMeasuresManyAlgorithmsTypesAndSizes) {
  const auto team = make_team(team_case("shm", "direct", 4), quick());
  for (const char* algorithm : {"direct", "ring", "tree", "halving-doubling"}) {
    for (const DataType type : {DataType::f32, DataType::bf16, DataType::u8}) {
      for (const std::int64_t bytes : {0, 8, 40'000}) {
        Case point = team_case("shm", algorithm, 4, bytes);
        point.type = type;
        const Measurement measured = team->measure(point, quick());
        EXPECT_EQ(measured.wrong, 0) << algorithm << " " << to_string(type) << " " << bytes;
        EXPECT_TRUE(measured.replicas_identical);
        EXPECT_THAT(measured.latency_ns, SizeIs(10));
        EXPECT_THAT(measured.played, HasSubstr("threads"));
      }
    }
  }
}

TEST(ThreadTeamTest, RanksRunInShortTurnsAndTheCallerDoesNot) {
  if (!turns_differ()) GTEST_SKIP() << "this kernel has turns of one length for all threads";
  const WorldSpec spec = world_of(team_case("shm", "ring", 3));
  const auto world = start_world(spec, Seconds{30});
  std::vector<std::uint64_t> turns(3);
  world->on_all(spec, Seconds{30}, {.run = [&turns](RankContext& context) {
                  turns[static_cast<std::size_t>(context.rank)] = turn_ns(0);
                }});
  EXPECT_THAT(turns, Each(100'000));
  EXPECT_GT(turn_ns(0), 100'000);
}

TEST(ThreadTeamTest, EveryCollectiveIsCheckedInGroupsAndWithout) {
  const auto team = make_team(team_case("shm", "direct", 6), quick());
  for (const CollectiveKind kind :
       {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather,
        CollectiveKind::broadcast, CollectiveKind::reduce}) {
    for (const char* groups : {"", "2x3", "0,2,4;1,3,5"}) {
      for (const bool in_place : {true, false}) {
        Case point = team_case("shm", has_root(kind) ? "reduce-broadcast" : "ring", 6, 4 * 10'007);
        point.collective = kind;
        point.groups = groups;
        point.in_place = in_place;
        const Measurement measured = team->measure(point, quick());
        EXPECT_EQ(measured.wrong, 0) << to_string(kind) << ' ' << groups << ' ' << in_place;
        EXPECT_TRUE(measured.replicas_identical) << to_string(kind) << ' ' << groups;
      }
    }
  }
}

TEST(ThreadTeamTest, ACaseThatEveryRankRefusesLeavesTheTeamUsable) {
  const auto team = make_team(team_case("shm", "direct", 3), quick());
  EXPECT_THROW(team->measure(team_case("shm", "rnig", 3), quick()), InvalidArgument);
  EXPECT_EQ(team->measure(team_case("shm", "ring", 3), quick()).wrong, 0);
}

TEST(ThreadTeamTest, MoreMemoryThanThereIsIsRefusedBeforeAnyIsTaken) {
  const auto team = make_team(team_case("shm", "direct", 2), quick());
  const Case huge = team_case("shm", "direct", 2, std::int64_t{1} << 50);
  EXPECT_THAT(words_of([&] { team->measure(huge, quick()); }), HasSubstr("are available"));
  EXPECT_EQ(team->measure(team_case("shm", "direct", 2), quick()).wrong, 0);
}

TEST(ThreadTeamTest, ARankThatDisagreesIsNamedAndEndsTheTeam) {
  StartedTeam team(start_world(world_of(team_case("shm", "ring", 3)), Seconds{30}));
  std::vector<Case> cases(3, team_case("shm", "ring", 3));
  cases[2].type = DataType::f64;
  EXPECT_THAT(words_of([&] { team.measure_each(cases, quick()); }),
              HasSubstr("rank 2 has data type f64 where rank 0 has f32"));
  EXPECT_THROW(team.measure(cases[0], quick()), TransportError);
}

TEST(ThreadTeamTest, TeamsOfSeveralSizesTakeTurns) {
  const auto two = make_team(team_case("shm", "direct", 2), quick());
  const auto five = make_team(team_case("shm", "direct", 5), quick());
  for (int turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(two->measure(team_case("shm", "ring", 2), quick()).wrong, 0);
    EXPECT_EQ(five->measure(team_case("shm", "direct", 5), quick()).wrong, 0);
  }
}

TEST(MakeTeamTest, ImpossibleTeamsAreRefusedWithWhatWouldBePossible) {
  EXPECT_THAT(words_of([] { make_team(team_case("smh", "ring", 2), quick()); }),
              HasSubstr("Did you mean 'shm'?"));
  EXPECT_THAT(words_of([] { make_team(team_case("shm", "ring", 0), quick()); }),
              HasSubstr("at least 1 worker, not 0"));
  Case point = team_case("shm", "ring", 2);
  point.private_buffers = true;
  EXPECT_THAT(words_of([&] { make_team(point, quick()); }), HasSubstr("isolated"));
}

TEST(BackendsTest, EveryBackEndIsARow) {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) names.push_back(backend.name);
  EXPECT_THAT(names, testing::ElementsAre("shm", "grpc", "gloo", "mpi", "nccl", "cuda"));
}

TEST(GlooTeamTest, ThreadsMeasureGloo) {
  const Case point = team_case("gloo", "gloo", 3);
  if (!find_backend("gloo").unavailable.empty()) {
    EXPECT_THROW(make_team(point, quick()), Unavailable);
    return;
  }
  const auto team = make_team(point, quick());
  EXPECT_EQ(team->measure(point, quick()).wrong, 0);
  Case no_bf16 = point;
  no_bf16.type = DataType::bf16;
  EXPECT_THROW(team->measure(no_bf16, quick()), Unavailable);
  EXPECT_EQ(team->measure(point, quick()).wrong, 0);
}

}  // namespace
}  // namespace collbench
