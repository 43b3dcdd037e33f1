// Commands give the bits of execute() in every order that their dependencies allow, and no two that
// touch the same elements are left unordered.
#include "transports/cuda/device_commands.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/device_memories.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/random.h"
#include "transports/cuda/device_accesses.h"
#include "transports/kernels/kernels.h"

namespace collbench {
namespace {

void perform(const DeviceCommands& list, const DeviceCommand& command, DeviceMemories& memories) {
  const std::int64_t offset = command.first * size_of(list.type);
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  for (const DeviceOperand& s : list.sources(command)) from.push_back(memories.at(s) + offset);
  for (const DeviceOperand& d : list.destinations(command)) to.push_back(memories.at(d) + offset);
  reduce(list.type, {list.op, command.divisor}, from, to, command.count);
}

/// In an order drawn from all that the dependencies allow.
void perform_in_random_order(const DeviceCommands& list, DeviceMemories& memories,
                             RandomEngine& engine) {
  const std::size_t n = list.commands.size();
  std::vector<int> missing(n, 0);
  std::vector<std::vector<std::size_t>> after(n);
  std::vector<std::size_t> ready;
  for (std::size_t c = 0; c < n; ++c) {
    missing[c] = list.commands[c].dependency_count;
    for (const std::int32_t d : list.before(list.commands[c])) {
      after[static_cast<std::size_t>(d)].push_back(c);
    }
    if (missing[c] == 0) ready.push_back(c);
  }
  std::size_t done = 0;
  for (; !ready.empty(); ++done) {
    std::swap(ready[engine() % ready.size()], ready.back());
    const std::size_t c = ready.back();
    ready.pop_back();
    perform(list, list.commands[c], memories);
    for (const std::size_t next : after[c]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  ASSERT_EQ(done, n) << "dependencies in a circle";
}

/// Which commands must have ended before another, a bit for each.
class Ancestors {
 public:
  explicit Ancestors(std::size_t commands) : words_((commands + 63) / 64) {}
  void add(std::size_t command) { words_[command / 64] |= bit(command); }
  void add_all(const Ancestors& others) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= others.words_[w];
  }
  bool has(std::size_t command) const { return (words_[command / 64] & bit(command)) != 0; }

 private:
  static std::uint64_t bit(std::size_t command) { return std::uint64_t{1} << command % 64; }
  std::vector<std::uint64_t> words_;
};

/// The first two commands that touch the same elements, one of them writing, with no path of
/// dependencies between them; empty if there are none. Looks at every pair, by sets of ancestors.
std::string first_race(const DeviceCommands& list) {
  const std::size_t n = list.commands.size();
  std::vector<Ancestors> ancestors(n, Ancestors(n));
  const auto touches = [&](const DeviceCommand& command, const DeviceOperand& memory, bool writes) {
    const auto operands = writes ? list.destinations(command) : list.sources(command);
    return std::find(operands.begin(), operands.end(), memory) != operands.end();
  };
  for (std::size_t c = 0; c < n; ++c) {
    const DeviceCommand& late = list.commands[c];
    for (const std::int32_t d : list.before(late)) {
      ancestors[c].add_all(ancestors[static_cast<std::size_t>(d)]);
      ancestors[c].add(static_cast<std::size_t>(d));
    }
    for (std::size_t e = 0; e < c; ++e) {
      const DeviceCommand& early = list.commands[e];
      const bool overlap =
          early.first < late.first + late.count && late.first < early.first + early.count;
      if (!overlap || ancestors[c].has(e)) continue;
      for (const bool early_writes : {false, true}) {
        const auto operands = early_writes ? list.destinations(early) : list.sources(early);
        for (const DeviceOperand& memory : operands) {
          if (touches(late, memory, true) || (early_writes && touches(late, memory, false))) {
            return std::to_string(e) + " and " + std::to_string(c);
          }
        }
      }
    }
  }
  return "";
}

void expect_bits_of_execute(const Schedule& schedule, RandomEngine& engine, int& turn,
                            const Collective& collective = {}) {
  for (const std::int64_t count : {1, 17, 1003}) {
    const bool in_place = turn % 2 == 0;
    const DataType type = all_data_types()[static_cast<std::size_t>(turn) % 7];
    const ReduceOp op = all_reduce_ops()[static_cast<std::size_t>(turn++) % 5];
    const DeviceCase point{schedule, count, type, op, in_place, collective};
    const std::vector<Bits> expected = executed(point);
    for (const bool fuse : {true, false}) {
      const DeviceCommands list =
          lower(schedule, count, type, op, in_place, {.fuse = fuse}, collective);
      DeviceMemories memories(point);
      perform_in_random_order(list, memories, engine);
      EXPECT_EQ(memories.outputs(), expected)
          << to_string(type) << " " << to_string(op) << " of " << count << ", fuse " << fuse;
      EXPECT_TRUE(memories.inputs_kept());
    }
  }
}

// Ranks in two groups whose memories the other group does not reach.
void expect_bits_between_groups(const Schedule& schedule, RandomEngine& engine) {
  const auto reaches = [](Rank reader, Rank owner) { return reader % 2 == owner % 2; };
  const DeviceCase point{schedule, 301, DataType::f32, ReduceOp::sum, false};
  const DeviceCommands list = lower(schedule, 301, point.type, point.op, false, {reaches});
  for (const DeviceCommand& command : list.commands) {
    for (const auto& operands : {list.sources(command), list.destinations(command)}) {
      for (const DeviceOperand& operand : operands) {
        EXPECT_TRUE(operand.place == DevicePlace::stage || reaches(command.rank, operand.rank));
      }
    }
  }
  EXPECT_EQ(first_race(list), "");
  DeviceMemories memories(point);
  perform_in_random_order(list, memories, engine);
  EXPECT_EQ(memories.outputs(), executed(point));
}

class EverySchedule : public testing::TestWithParam<ScheduleFamily> {};

TEST_P(EverySchedule, GivesTheBitsOfExecuteInAnyOrder) {
  RandomEngine engine = random_engine(3, GetParam().name);
  int turn = 0;
  for (const Schedule& schedule : GetParam().schedules()) {
    SCOPED_TRACE(schedule.ranks());
    expect_bits_of_execute(schedule, engine, turn);
  }
}

const Collective other_collectives[] = {{CollectiveKind::reduce_scatter},
                                        {CollectiveKind::all_gather},
                                        {CollectiveKind::broadcast},
                                        {CollectiveKind::reduce}};

TEST_P(EverySchedule, GivesTheBitsOfExecuteForOtherCollectives) {
  RandomEngine engine = random_engine(5, GetParam().name);
  int turn = 0;
  for (const Collective& collective : other_collectives) {
    for (const Schedule& schedule : GetParam().schedules(collective)) {
      SCOPED_TRACE(testing::Message() << to_string(collective.kind) << " " << schedule.ranks());
      expect_bits_of_execute(schedule, engine, turn, collective);
      for (const bool in_place : {true, false}) {
        const DeviceCommands list = lower(schedule, 1003, DataType::f32, ReduceOp::avg, in_place,
                                          {.fuse = false}, collective);
        EXPECT_EQ(first_race(list), "") << "in place " << in_place;
      }
    }
  }
}

TEST_P(EverySchedule, LeavesNoTwoCommandsInARace) {
  for (const Schedule& schedule : GetParam().schedules()) {
    for (const bool in_place : {true, false}) {
      for (const bool fuse : {true, false}) {
        const DeviceCommands list =
            lower(schedule, 1003, DataType::f32, ReduceOp::avg, in_place, {.fuse = fuse});
        EXPECT_EQ(first_race(list), "")
            << schedule.ranks() << " ranks, in place " << in_place << ", fuse " << fuse;
      }
    }
  }
}

TEST_P(EverySchedule, ReadsOnlyWhatItReachesAndGivesTheSameBits) {
  RandomEngine engine = random_engine(4, GetParam().name);
  for (const Schedule& schedule : GetParam().schedules()) {
    SCOPED_TRACE(schedule.ranks());
    expect_bits_between_groups(schedule, engine);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EverySchedule, testing::ValuesIn(every_family()),
                         [](const auto& test) { return test.param.name; });

TEST(LoweringTest, FindsARaceThatIsPlanted) {
  DeviceCommands list = lower(make_schedule("ring", 4), 64, DataType::f32, ReduceOp::sum, true);
  ASSERT_EQ(first_race(list), "");
  const auto last = std::find_if(list.commands.rbegin(), list.commands.rend(),
                                 [](const auto& c) { return c.dependency_count > 0; });
  last->dependency_count = 0;
  EXPECT_NE(first_race(list), "");
}

TEST(LoweringTest, PlaysDirectAsOneReductionForEachOrder) {
  const DeviceCommands list =
      lower(make_schedule("direct", 8), 4096, DataType::f32, ReduceOp::sum, true);
  EXPECT_TRUE(list.fused);
  for (const DeviceCommand& command : list.commands) {
    EXPECT_EQ(command.sources, 8);
    EXPECT_EQ(command.destinations, 8);
    EXPECT_EQ(command.dependency_count, 0);
  }
}

TEST(LoweringTest, PlaysTheHalvesOfDirectAsOneCommandForEachShare) {
  const AlgorithmSpec direct{"direct", {}};
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    const Schedule half = make_schedule(direct, 8, Bytes{16384}, Collective{kind});
    const DeviceCommands list =
        lower(half, 4096, DataType::f32, ReduceOp::sum, true, {}, Collective{kind});
    EXPECT_TRUE(list.fused);
    ASSERT_EQ(list.commands.size(), 8U);
    const bool adds = kind == CollectiveKind::reduce_scatter;
    EXPECT_EQ(list.commands[3].sources, adds ? 8 : 1);
    EXPECT_EQ(list.commands[3].destinations, adds ? 1 : 7) << "in place the owner has it";
    EXPECT_EQ(list.destinations(list.commands[3])[0].rank, adds ? 3 : 0);
  }
}

TEST(LoweringTest, LaysWorkBehindScratch) {
  DeviceCommands list{.count = 100, .uses_work = true};
  EXPECT_EQ(scratch_room(list).count, 400);
  EXPECT_EQ(work_begin(list).count, 0);
  list.uses_scratch = true;
  EXPECT_EQ(work_begin(list).count, 512);
  EXPECT_EQ(scratch_room(list).count, 912);
  list.uses_work = false;
  EXPECT_EQ(scratch_room(list).count, 400);
}

TEST(LoweringTest, KnowsTheTrafficOfDirectAndRing) {
  const auto traffic = [](const char* name) {
    return memory_traffic(lower(make_schedule(name, 8), 8000, DataType::f32, ReduceOp::sum, true));
  };
  // N read and N written; (N-1) steps of 2 read and 1 written, as many of 1 and 1.
  EXPECT_EQ(traffic("direct").count, 2 * 8 * 32000);
  EXPECT_EQ(traffic("ring").count, 5 * 7 * 32000);
}

TEST(LoweringTest, RefusesPlansThatDoNotBelongTogether) {
  const Schedule ring = make_schedule("ring", 2);
  std::vector<Plan> plans;
  EXPECT_THROW(lower(plans), InvalidArgument);
  plans.emplace_back(ring, 0, 8, DataType::f32, ReduceOp::sum, true);
  EXPECT_THROW(lower(plans), InvalidArgument);
  plans.emplace_back(ring, 1, 9, DataType::f32, ReduceOp::sum, true);
  EXPECT_THROW(lower(plans), InvalidArgument);
  plans.pop_back();
  plans.emplace_back(make_schedule("tree", 2), 1, 8, DataType::f32, ReduceOp::sum, true);
  EXPECT_THROW(lower(plans, {.fuse = false}), InvalidArgument);
}

TEST(DeviceAccessesTest, KnowsWritersAndReadersOfEachElement) {
  DeviceAccesses accesses;
  std::vector<std::int32_t> follows;
  accesses.write(0, 10, 0, follows);
  accesses.write(5, 15, 1, follows);
  EXPECT_THAT(follows, testing::ElementsAre(0));
  follows.clear();
  accesses.read(2, 7, 2, follows);
  EXPECT_THAT(follows, testing::UnorderedElementsAre(0, 1));
  follows.clear();
  accesses.write(6, 9, 3, follows);
  EXPECT_THAT(follows, testing::UnorderedElementsAre(1, 2));
  follows.clear();
  accesses.read(20, 30, 4, follows);
  EXPECT_TRUE(follows.empty());
  accesses.write(0, 40, 5, follows);
  EXPECT_THAT(std::set(follows.begin(), follows.end()), testing::ElementsAre(0, 1, 2, 3, 4));
}

}  // namespace
}  // namespace collbench
