// The chief's answers, request by request: what it says of workers that come, leave and are lost.
#include "training/asynchronous/coordinator_service.h"

#include <chrono>
#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/packet.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CoordinatorServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    join(0, 1);
    join(1, 2);
    service_.begin(closures_);
  }

  void join(int worker, CallerNumber caller) {
    answer(request(Request::join).number(worker).text("").text(text_of(values_)), caller);
  }
  /// The step that the worker is given; none after its farewell, and once all are done.
  std::optional<std::int64_t> next(int worker, CallerNumber caller,
                                   std::optional<std::int64_t> done = {}, bool leaves = false) {
    PacketWriter packet = request(Request::next);
    packet.number(worker).number(leaves ? 1 : 0).number(done ? 1 : 0);
    if (done) write(ClosureResult{.step = *done, .score = {}, .samples = 1, .times = {}}, packet);
    const std::string reply = answer(packet, caller);
    const std::int64_t step = PacketReader(reply).number();
    return step < 0 ? std::nullopt : std::optional(step);
  }
  std::string answer(const PacketWriter& packet, CallerNumber caller) {
    return service_.answer(
        {.request = packet.packet(), .abandoned = [] { return false; }, .caller = caller});
  }

  std::vector<std::string> said_;
  const std::vector<NamedValue> values_{{"seed", "1"}};
  Closures closures_{0, 4, 4, 0, nullptr, {}};
  CoordinatorService service_{{.chief = {"chief", "c"},
                               .workers = {{"worker 0", "a"}, {"worker 1", "b"}},
                               .servers = {},
                               .say = [this](const std::string& line) { said_.push_back(line); }},
                              values_};
};

TEST_F(CoordinatorServiceTest, ALostWorkersStepGoesToTheNextThatAsks) {
  EXPECT_EQ(next(0, 1), 0);
  EXPECT_EQ(next(1, 2), 1);
  service_.gone(1);
  EXPECT_THAT(said_, ElementsAre("worker 0 (a) was lost; the run continues"));
  EXPECT_EQ(next(1, 2, 1), 0);
  EXPECT_EQ(next(1, 2, 0), 2);
  EXPECT_EQ(next(1, 2, 2), 3);
  EXPECT_EQ(next(1, 2, 3), std::nullopt);
  EXPECT_EQ(closures_.repeated(), 1);
}

TEST_F(CoordinatorServiceTest, AWorkerIsLostOnlyIfItDidNotSayFarewellSinceItCame) {
  EXPECT_EQ(next(0, 1), 0);
  EXPECT_EQ(next(0, 1, 0, true), std::nullopt);
  service_.gone(1);
  join(0, 3);
  EXPECT_EQ(next(0, 3), 1);
  service_.gone(3);
  EXPECT_THAT(said_, ElementsAre("worker 0 (a) has left; the run continues", "worker 0 (a) is back",
                                 "worker 0 (a) was lost; the run continues"));
}

TEST_F(CoordinatorServiceTest, AReplacedWorkerIsRefusedAndItsEndChangesNothing) {
  EXPECT_EQ(next(0, 1), 0);
  join(0, 3);
  EXPECT_EQ(next(0, 3), 0) << "the step of the one that it replaced";
  EXPECT_THAT([this] { next(0, 1, 0); }, testing::ThrowsMessage<InvalidArgument>(
                                             HasSubstr("worker 0 was replaced by another")));
  service_.gone(1);
  EXPECT_EQ(next(0, 3, 0), 1);
  EXPECT_THAT(said_, ElementsAre("worker 0 (a) is back"));
}

TEST_F(CoordinatorServiceTest, AReplacedWorkerThatWaitsForAStepIsRefusedAndGivenNone) {
  for (const int step : {0, 1, 2, 3}) {
    EXPECT_EQ(
        step == 0 ? next(0, 1) : next(1, 2, step == 1 ? std::nullopt : std::optional(step - 1)),
        step);
  }
  auto waiting = std::async(std::launch::async, [this] { return next(1, 2, 3); });
  TrainingState state;
  while (state.step < 3) closures_.describe(state);  // the result has arrived
  join(1, 3);
  const bool ended = waiting.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  EXPECT_TRUE(ended);
  service_.gone(1);
  EXPECT_EQ(next(1, 3), 0) << "the step of worker 0 goes to the one that is there";
  EXPECT_THAT([&] { waiting.get(); }, testing::ThrowsMessage<InvalidArgument>(
                                          HasSubstr("worker 1 was replaced by another")));
  EXPECT_EQ(next(1, 3, 0), std::nullopt);
  EXPECT_TRUE(closures_.finished());
}

}  // namespace
}  // namespace collbench
