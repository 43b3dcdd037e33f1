// Levels, played one after the other and their pieces in any order, give the bits of execute().
#include "transports/cuda/device_levels.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/device_memories.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/cuda/device_fold.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> in_turns(int ranks, int places) {
  std::vector<int> place_of;
  for (Rank r = 0; r < ranks; ++r) place_of.push_back(r % places);
  return place_of;
}

struct PieceArrays {
  std::vector<const std::byte*> from;
  std::vector<std::byte*> to;
  int by = 1;
  int sources() const { return static_cast<int>(from.size()); }
  int destinations() const { return static_cast<int>(to.size()); }
  int divisor() const { return by; }
  static bool aligned() { return true; }
  const std::byte* source(int s) const { return from[static_cast<std::size_t>(s)]; }
  std::byte* destination(int d) const { return to[static_cast<std::size_t>(d)]; }
};

void play(const DeviceCommands& commands, const std::vector<DeviceLevel>& levels,
          DeviceMemories& memories) {
  for (const DeviceLevel& level : levels) {
    // Backwards: pieces of a level need nothing of each other.
    for (auto piece = level.pieces.rbegin(); piece != level.pieces.rend(); ++piece) {
      const DeviceCommand& command = commands.commands[static_cast<std::size_t>(piece->command)];
      PieceArrays arrays{{}, {}, command.divisor};
      for (const auto& s : commands.sources(command)) arrays.from.push_back(memories.at(s));
      for (const auto& d : commands.destinations(command)) arrays.to.push_back(memories.at(d));
      visit_element(commands.type, commands.op, [&]<class Element, class Op>() {
        for (int thread = 0; thread < 3; ++thread) {
          play_range<Element, Op>(arrays, piece->first, piece->first + piece->count, thread, 3);
        }
      });
    }
  }
}

/// Whether each level has, before it, the levels of everything that its commands depend on.
void expect_order(const DeviceCommands& commands, const std::vector<DeviceLevel>& levels) {
  std::vector<std::set<std::int32_t>> played(levels.size());  // with all that lies before
  for (std::size_t l = 0; l < levels.size(); ++l) {
    for (const std::int32_t b : levels[l].before) {
      ASSERT_LT(b, static_cast<std::int32_t>(l));
      const auto& earlier = played[static_cast<std::size_t>(b)];
      played[l].insert(earlier.begin(), earlier.end());
      played[l].insert(b);
    }
    for (const DevicePiece& piece : levels[l].pieces) {
      const auto& command = commands.commands[static_cast<std::size_t>(piece.command)];
      for (const std::int32_t needed : commands.before(command)) {
        for (std::size_t other = 0; other < levels.size(); ++other) {
          const auto& pieces = levels[other].pieces;
          const bool has = std::any_of(pieces.begin(), pieces.end(),
                                       [&](const auto& p) { return p.command == needed; });
          ASSERT_TRUE(!has || played[l].contains(static_cast<std::int32_t>(other)));
        }
      }
    }
  }
}

class EveryLevel : public testing::TestWithParam<ScheduleFamily> {};

TEST_P(EveryLevel, GivesTheBitsOfExecute) {
  int turn = 0;
  for (const Schedule& schedule : GetParam().schedules()) {
    SCOPED_TRACE(schedule.ranks());
    for (const std::int64_t count : {17, 1003}) {
      const DataType type = all_data_types()[static_cast<std::size_t>(turn) % 7];
      const ReduceOp op = all_reduce_ops()[static_cast<std::size_t>(turn) % 5];
      const DeviceCase point{schedule, count, type, op, turn % 3 != 0};
      const int places = 1 + turn++ % 3;
      const DeviceCommands commands =
          lower(schedule, count, type, op, point.in_place, {.fuse = turn % 4 < 2});
      const std::vector<DeviceLevel> levels =
          levels_of(commands, in_turns(schedule.ranks(), places), places);
      expect_order(commands, levels);
      DeviceMemories memories(point);
      play(commands, levels, memories);
      ASSERT_EQ(memories.outputs(), executed(point))
          << to_string(type) << " " << to_string(op) << " of " << count << " on " << places;
      EXPECT_TRUE(memories.inputs_kept());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryLevel, testing::ValuesIn(every_family()),
                         [](const auto& test) { return test.param.name; });

DeviceCommands sums(const char* algorithm, int ranks) {
  return lower(make_schedule(algorithm, ranks), 8000, DataType::f32, ReduceOp::sum, true);
}

std::vector<DeviceLevel> levels_on_one(const char* algorithm, int ranks) {
  return levels_of(sums(algorithm, ranks), in_turns(ranks, 1), 1);
}

TEST(DeviceLevelsTest, AreAsFewAsTheScheduleHasRounds) {
  EXPECT_EQ(levels_on_one("direct", 8).size(), 1);
  EXPECT_EQ(levels_on_one("recursive-doubling", 8).size(), 3 + 1);  // a copy to where it began
  const std::vector<DeviceLevel> ring = levels_on_one("ring", 8);
  EXPECT_EQ(ring.size(), 14);
  for (std::size_t l = 1; l < ring.size(); ++l) {
    EXPECT_THAT(ring[l].before, ElementsAre(static_cast<std::int32_t>(l) - 1));
    EXPECT_EQ(ring[l].pieces.size(), 8);
  }
  EXPECT_THAT(ring[0].before, IsEmpty());
}

TEST(DeviceLevelsTest, AreCutWhereTheArgumentsOfAKernelEnd) {
  const DeviceCommands commands = sums("one-shot", 40);
  const std::vector<DeviceLevel> levels = levels_of(commands, in_turns(40, 1), 1);
  EXPECT_GT(levels.size(), 2);
  for (const DeviceLevel& level : levels) {
    int words = 0;
    for (const DevicePiece& piece : level.pieces) {
      words += level_words(commands.commands[static_cast<std::size_t>(piece.command)]);
    }
    EXPECT_LE(words, most_level_words);
  }
}

TEST(DeviceLevelsTest, RefuseAReductionOfMoreArraysThanAKernelTakes) {
  EXPECT_THROW(levels_on_one("direct", 300), Unavailable);
}

}  // namespace
}  // namespace collbench
