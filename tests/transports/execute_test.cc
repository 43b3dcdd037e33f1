// What a rank does while it waits: in any order that the plan allows, with the same sums.
#include "transports/play/execute.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/transports/thread_ranks.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/random.h"
#include "transports/faults/wrapped_endpoint.h"
#include "transports/play/step_order.h"

namespace collbench {
namespace {

// Hands everything through, but says at random that a wait would not end at once; without a seed it
// waits in any case, so that all steps keep the order of the plan.
class FickleEndpoint final : public WrappedEndpoint {
 public:
  FickleEndpoint(std::unique_ptr<Endpoint> endpoint, std::optional<int> seed)
      : WrappedEndpoint(std::move(endpoint)), in_order_(!seed) {
    engine_ = random_engine(static_cast<std::uint64_t>(seed.value_or(0)), "fickle",
                            static_cast<std::uint64_t>(endpoint_->rank()));
  }
  bool try_wait(Ticket ticket) override {
    if (in_order_) return WrappedEndpoint::try_wait(ticket);
    return engine_() % 4 == 0 && endpoint_->try_wait(ticket);
  }

 private:
  bool in_order_;
  RandomEngine engine_;
};

// Two replays in a row; in place, the second one sums what the first gave.
FloatBuffers play(const Schedule& schedule, FloatBuffers inputs, ReduceOp op, bool in_place,
                  std::optional<int> seed) {
  FloatBuffers outputs = inputs;
  on_thread_ranks(schedule.ranks(), [&](std::unique_ptr<Endpoint> plain) {
    const Rank rank = plain->rank();
    FickleEndpoint endpoint(std::move(plain), seed);
    const Region out = float_region(outputs[static_cast<std::size_t>(rank)]);
    const Region in = in_place ? out : float_region(inputs[static_cast<std::size_t>(rank)]);
    BoundPlan bound(Plan(schedule, rank, out.count, DataType::f32, op, in_place), endpoint);
    execute(bound, in, out);
    execute(bound, in, out);
  });
  return outputs;
}

class EveryOrder : public testing::TestWithParam<std::string> {};

TEST_P(EveryOrder, GivesTheBitsOfTheOrderOfThePlan) {
  for (const int ranks : {3, 4, 8}) {
    const Schedule schedule = make_schedule(GetParam(), ranks);
    RandomEngine engine = random_engine(7, "every order");
    std::normal_distribution<float> normal;
    FloatBuffers inputs(static_cast<std::size_t>(ranks), std::vector<float>(5000));
    for (auto& input : inputs) {
      for (float& x : input) x = normal(engine);
    }
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::avg}) {
      for (const bool in_place : {true, false}) {
        const FloatBuffers expected = play(schedule, inputs, op, in_place, std::nullopt);
        for (int seed = 0; seed < 5; ++seed) {
          ASSERT_EQ(play(schedule, inputs, op, in_place, seed), expected)
              << ranks << " ranks, in place " << in_place << ", seed " << seed;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Execute, EveryOrder,
                         testing::Values("ring:segments=3", "ring:bidirectional", "tree",
                                         "double-tree", "recursive-doubling", "halving-doubling",
                                         "circulant", "direct", "parameter-server"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

// A rank that has every message of its children, and none of its parent. Counts what is sent up.
class OrphanedEndpoint final : public Endpoint {
 public:
  OrphanedEndpoint(Rank rank, int ranks, Rank parent)
      : rank_(rank), ranks_(ranks), parent_(parent) {}
  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Seconds now() const override { return Seconds{0}; }
  void reserve(const Traffic&) override {}
  Ticket send(Rank to, Region) override {
    if (to == parent_) ++sent_up;
    return 0;
  }
  Ticket recv(Rank from, Region) override { return from == parent_ ? 1 : 0; }
  Ticket recv_reduce(std::span<const Rank>, Region, Region, Reduction) override { return 0; }
  bool try_wait(Ticket ticket) override { return ticket == 0; }
  void wait(Ticket ticket) override {
    if (ticket != 0) throw TransportError("the parent is silent");
  }

  int sent_up = 0;

 private:
  Rank rank_;
  int ranks_;
  Rank parent_;
};

TEST(Execute, DoesWhatItCanBeforeItWaits) {
  const Schedule tree = make_schedule("tree", 8);
  std::vector<float> data(8000);
  OrphanedEndpoint endpoint(1, 8, 0);
  BoundPlan bound(Plan(tree, 1, std::ssize(data), DataType::f32, ReduceOp::sum, true), endpoint);
  const Region region = float_region(data);
  EXPECT_THROW(execute(bound, region, region), TransportError);
  EXPECT_EQ(endpoint.sent_up, tree.chunks()) << "segments that reached the parent";
}

// A sum that would overwrite what is still sent goes beside it, and the next one back: the vector
// is copied once where the last sum is not in its place, never else.
TEST(Plan, SumsThatFollowEachOtherAreNotCopied) {
  for (const auto& [ranks, in_place, copies] :
       {std::tuple{2, true, 1}, std::tuple{4, true, 0}, std::tuple{8, true, 1},
        std::tuple{2, false, 0}, std::tuple{4, false, 1}, std::tuple{8, false, 0}}) {
    const Plan plan(make_schedule("recursive-doubling", ranks), 0, 1000, DataType::f32,
                    ReduceOp::sum, in_place);
    const auto is_copy = [](const Step& step) { return step.kind == Step::Kind::copy; };
    EXPECT_EQ(std::ranges::count_if(plan.steps(), is_copy), copies) << ranks << in_place;
  }
}

TEST(Plan, WaitsForEachTransferOnce) {
  for (const AlgorithmInfo& info : algorithms()) {
    for (const int ranks : {3, 4, 8}) {
      std::optional<Schedule> schedule;
      try {
        schedule = make_schedule(std::string(info.name), ranks);
      } catch (const InvalidArgument&) {
        continue;
      }
      for (const bool in_place : {true, false}) {
        for (Rank rank = 0; rank < ranks; ++rank) {
          const Plan plan(*schedule, rank, 1000, DataType::f32, ReduceOp::sum, in_place);
          std::vector<int> waits(static_cast<std::size_t>(plan.tickets()));
          for (const Step& step : plan.steps()) {
            if (step.kind == Step::Kind::wait) ++waits[static_cast<std::size_t>(step.ticket)];
          }
          EXPECT_EQ(std::ranges::count(waits, 1), plan.tickets()) << info.name << ' ' << ranks;
        }
      }
    }
  }
}

// The steps of a rank that sends up what it gets, then gets the sum back.
TEST(StepOrder, KeepsWhatTouchesTheSameElementsOrTheSameRanks) {
  const Plan plan(make_schedule("tree:segments=2", 3), 1, 64, DataType::f32, ReduceOp::sum, true);
  const std::vector<std::uint64_t> order = step_order(plan);
  const auto steps = plan.steps();
  ASSERT_EQ(order.size(), steps.size());
  const auto follows = [&](std::size_t later, std::size_t earlier) {
    return (order[later] >> (step_window - (later - earlier)) & 1) != 0;
  };
  std::vector<std::size_t> sends, receives;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind == Step::Kind::send) sends.push_back(i);
    if (steps[i].kind == Step::Kind::recv) receives.push_back(i);
  }
  ASSERT_EQ(sends.size(), 2U);
  ASSERT_EQ(receives.size(), 2U);
  EXPECT_TRUE(follows(sends[1], sends[0])) << "messages of one pair keep their order";
  EXPECT_TRUE(follows(receives[1], receives[0])) << "messages of one pair keep their order";
  EXPECT_TRUE(follows(receives[0], sends[0])) << "the sum overwrites what was sent";
  const bool free = sends[1] < receives[0] || !follows(sends[1], receives[0]);
  EXPECT_TRUE(free) << "the second segment does not need the sum of the first";
}

}  // namespace
}  // namespace collbench
