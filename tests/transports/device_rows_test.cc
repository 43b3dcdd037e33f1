// Rows, played by the code of the persistent kernel with a thread for each of its blocks, give the
// bits of execute().
#include "transports/cuda/device_rows.h"

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "tests/transports/device_memories.h"
#include "tests/transports/kept_threads.h"

#include "algorithms/registry.h"
#include "transports/cuda/device_row_player.h"

namespace collbench {
namespace {

std::span<const DeviceRowStep> row_of(const DeviceRows& rows, Rank rank) {
  const auto first = static_cast<std::size_t>(rows.first_step[static_cast<std::size_t>(rank)]);
  const auto last = static_cast<std::size_t>(rows.first_step[static_cast<std::size_t>(rank) + 1]);
  return std::span(rows.steps).subspan(first, last - first);
}

/// A block of one thread, on a CPU.
class ThreadMachine {
 public:
  explicit ThreadMachine(std::chrono::milliseconds patience)
      : end_(std::chrono::steady_clock::now() + patience) {}
  static int thread() { return 0; }
  static int threads() { return 1; }
  static bool any(bool said) { return said; }
  static bool reached(const std::uint64_t* flag, std::uint64_t number) {
    return std::atomic_ref(*const_cast<std::uint64_t*>(flag)).load(std::memory_order_acquire) >=
           number;
  }
  static void acquire() {}
  std::byte** addresses(int slot) { return addresses_.data() + slot * device_near_operands; }
  static void publish(std::uint64_t* flag, std::uint64_t number) {
    std::atomic_ref(*flag).store(number, std::memory_order_release);
  }
  bool patient() const {
    std::this_thread::yield();
    return std::chrono::steady_clock::now() < end_;
  }

 private:
  std::chrono::steady_clock::time_point end_;
  std::array<std::byte*, 2 * device_near_operands> addresses_{};
};

/// All that a replay of rows needs; flags go on counting from one replay to the next.
class Stand {
 public:
  Stand(DeviceRows rows, DeviceLanes lanes, int flag_copies = 1)
      : rows_(std::move(rows)), lanes_(lanes) {
    const auto words = static_cast<std::size_t>(rows_.ranks * lanes.lanes * device_flag_stride);
    copies_.assign(static_cast<std::size_t>(flag_copies), std::vector<std::uint64_t>(words, 0));
    for (auto& copy : copies_) flags_.push_back(copy.data());
  }

  /// False if some block gave up.
  bool play(DeviceMemories& memories, std::chrono::milliseconds patience) {
    std::atomic<bool> fine = true;
    kept_threads().run(rows_.ranks * lanes_.lanes, [&](int block) {
      const Rank rank = block / lanes_.lanes;
      DeviceRowTable table = table_of(memories);
      table.home = rank % static_cast<int>(flags_.size());
      ThreadMachine machine(patience);
      visit_element(rows_.type, rows_.op, [&]<class Element, class Op>() {
        if (!play_row<Element, Op>(table, rank, block % lanes_.lanes, machine)) fine = false;
      });
    });
    started_ += static_cast<std::uint64_t>(rows_.numbers);
    return fine;
  }

 private:
  DeviceRowTable table_of(const DeviceMemories& memories) const {
    DeviceRowTable table;
    table.first_step = rows_.first_step.data();
    table.steps = rows_.steps.data();
    table.operands = rows_.operands.data();
    table.waits = rows_.waits.data();
    table.bases = memories.bases().data();
    table.flags = flags_.data();
    table.flag_copies = static_cast<int>(flags_.size());
    table.flag_lanes = table.lanes = lanes_.lanes;
    table.stripe = lanes_.stripe;
    table.started = started_;
    for (const std::byte* base : memories.bases()) {
      if (reinterpret_cast<std::uintptr_t>(base) % 16 != 0) table.aligned = false;
    }
    return table;
  }

  DeviceRows rows_;
  DeviceLanes lanes_;
  std::vector<std::vector<std::uint64_t>> copies_;
  std::vector<std::uint64_t*> flags_;
  std::uint64_t started_ = 0;
};

using namespace std::chrono_literals;

DeviceRows rows_of(const DeviceCase& point, DeviceStart start, bool fuse = true) {
  return tabulate(lower(point.schedule, point.count, point.type, point.op, point.in_place,
                        {.fuse = fuse}, point.collective),
                  start);
}

void expect_rows_give_the_bits_of_execute(const Schedule& schedule, int& turn) {
  // Each count with one start, and the other way round with the next number of ranks; of many ranks
  // the middle ones.
  const bool many = schedule.ranks() > 8;
  for (const std::int64_t count : {1, 17, 1003, 9001}) {
    if (many && (count == 1 || count == 9001)) continue;
    const DeviceStart start = turn % 2 == 0 ? DeviceStart::together : DeviceStart::apart;
    const DataType type = all_data_types()[static_cast<std::size_t>(turn) % 7];
    const ReduceOp op = all_reduce_ops()[static_cast<std::size_t>(turn) % 5];
    const DeviceCase point{schedule, count, type, op, turn % 3 != 0};
    const DeviceRows rows = rows_of(point, start, turn % 4 < 2);
    ++turn;
    Stand stand(rows, choose_lanes(rows, 3), start == DeviceStart::apart ? 2 : 1);
    const std::vector<Bits> expected = executed(point);
    for (int replay = 0; replay < 2; ++replay) {
      DeviceMemories memories(point);
      ASSERT_TRUE(stand.play(memories, 20s)) << "a wait was never answered";
      ASSERT_EQ(memories.outputs(), expected)
          << to_string(type) << " " << to_string(op) << " of " << count << ", replay " << replay;
      EXPECT_TRUE(memories.inputs_kept());
    }
  }
  ++turn;
}

class EveryRow : public testing::TestWithParam<ScheduleFamily> {};

TEST_P(EveryRow, GivesTheBitsOfExecute) {
  int turn = 0;
  for (const Schedule& schedule : GetParam().schedules()) {
    SCOPED_TRACE(schedule.ranks());
    expect_rows_give_the_bits_of_execute(schedule, turn);
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryRow, testing::ValuesIn(every_family()),
                         [](const auto& test) { return test.param.name; });

TEST(DeviceRowsTest, GiveTheBitsOfOtherCollectives) {
  int turn = 0;
  for (const char* spec : {"direct", "ring", "halving-doubling", "binomial", "tree"}) {
    const ScheduleFamily family{spec, spec};
    for (const std::string_view name : collective_names()) {
      const Collective collective{parse_collective(name)};
      for (const Schedule& schedule : family.schedules(collective)) {
        if (schedule.ranks() > 8) break;
        const DeviceCase point{schedule,      1003,          DataType::f32,
                               ReduceOp::sum, turn % 2 != 0, collective};
        const DeviceRows rows = rows_of(point, DeviceStart::apart, turn++ % 4 < 2);
        Stand stand(rows, choose_lanes(rows, 3), 2);
        DeviceMemories memories(point);
        ASSERT_TRUE(stand.play(memories, 20s)) << "a wait was never answered";
        ASSERT_EQ(memories.outputs(), executed(point)) << name << ", " << schedule.name();
      }
    }
  }
}

TEST(DeviceRowsTest, WaitsForNothingThatIsKnownAlready) {
  // In a ring each step needs one neighbour's step before it, and the other neighbour to have read
  // what is overwritten; the second follows from the first once the ring has gone round.
  const DeviceCase point{make_schedule("ring", 8), 800, DataType::f32, ReduceOp::sum, true};
  const DeviceRows rows = rows_of(point, DeviceStart::together);
  for (Rank r = 0; r < 8; ++r) {
    for (const DeviceRowStep& step : row_of(rows, r)) EXPECT_LE(step.waits, 1);
  }
}

TEST(DeviceRowsTest, GiveEveryRankItsShareOfAFusedPiece) {
  const DeviceCase point{make_schedule("direct", 4), 4096, DataType::f16, ReduceOp::sum, true};
  const DeviceRows rows = rows_of(point, DeviceStart::together);
  for (Rank r = 0; r < 4; ++r) {
    std::int64_t elements = 0;
    for (const DeviceRowStep& step : row_of(rows, r)) elements += step.count;
    EXPECT_EQ(elements, 1024);
    EXPECT_TRUE(std::all_of(row_of(rows, r).begin(), row_of(rows, r).end(),
                            [](const auto& step) { return step.waits == 0; }));
  }
}

TEST(DeviceRowsTest, BeginAndEndTogetherWhereTheyStartApart) {
  const DeviceCase point{make_schedule("direct", 3), 30, DataType::f32, ReduceOp::sum, true};
  const DeviceRows rows = rows_of(point, DeviceStart::apart);
  for (Rank r = 0; r < 3; ++r) {
    EXPECT_EQ(row_of(rows, r).front().publishes, 1);
    EXPECT_EQ(row_of(rows, r).back().waits, 2);
  }
}

TEST(DeviceRowsTest, GiveUpInsteadOfHangingWhenARankIsMissing) {
  const DeviceCase point{make_schedule("ring", 2), 64, DataType::f32, ReduceOp::sum, true};
  DeviceRows rows = rows_of(point, DeviceStart::apart);
  for (DeviceWait& wait : rows.waits) wait.number += 1000;
  DeviceMemories memories(point);
  Stand stand(rows, choose_lanes(rows, 1));
  EXPECT_FALSE(stand.play(memories, 50ms));
}

TEST(DeviceLanesTest, AreAsManyAsThereIsWorkFor) {
  DeviceRows rows;
  rows.type = DataType::f32;
  rows.largest = 32;
  EXPECT_EQ(choose_lanes(rows, 64).lanes, 1);
  rows.largest = 1 << 20;  // 4 MiB
  EXPECT_EQ(choose_lanes(rows, 64).lanes, 64);
  EXPECT_EQ(choose_lanes(rows, 64).stripe, 8192);
  EXPECT_EQ(choose_lanes(rows, 4096).lanes, 1024);
  EXPECT_EQ(choose_lanes(rows, 4096).stripe, 1024);
}

}  // namespace
}  // namespace collbench
