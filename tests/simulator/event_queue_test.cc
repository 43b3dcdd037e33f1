// The containers of the simulator against simple models of them.
#include "simulator/event_queue.h"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "core/random.h"
#include "simulator/pair_table.h"

namespace collbench {
namespace {

TEST(EventQueue, GivesEventsInTheOrderOfTimeAndSequence) {
  // Few and many distinct times: long lists, and lists that displace each other.
  for (const int times : {1, 3, 50, 100000}) {
    RandomEngine random = random_engine(7, "events", static_cast<std::uint64_t>(times));
    EventQueue queue;
    const int ids = 3000;
    queue.resize(ids);
    std::set<std::tuple<double, int, std::int32_t>> model;
    std::map<std::int32_t, std::pair<double, int>> of_id;
    double now = 0;
    for (int step = 0; step < 60000; ++step) {
      const auto id = static_cast<std::int32_t>(random() % ids);
      if (!queue.holds(id)) {
        const double time = now + static_cast<double>(random() % static_cast<unsigned>(times));
        queue.push(id, time);
        model.insert({time, step, id});
        of_id[id] = {time, step};
      } else if (random() % 4 == 0) {
        queue.remove(id);
        model.erase({of_id[id].first, of_id[id].second, id});
      }
      if (random() % 3 == 0 && !model.empty()) {
        now = queue.next_time();
        ASSERT_EQ(now, std::get<0>(*model.begin()));
        ASSERT_EQ(queue.pop(), std::get<2>(*model.begin()));
        model.erase(model.begin());
      }
      ASSERT_EQ(queue.empty(), model.empty());
    }
  }
}

TEST(EventQueue, AMomentSpansFourUnitsInTheLastPlace) {
  double time = 1e-3;
  for (int i = 0; i < 4; ++i) time = std::nextafter(time, 1.0);
  EXPECT_LE(time, EventQueue::moment_end(1e-3));
  EXPECT_GT(1e-3 * (1 + 1e-14), EventQueue::moment_end(1e-3));
  EXPECT_EQ(EventQueue::moment_end(0), 0);
}

TEST(PairTable, EqualsAMap) {
  RandomEngine random = random_engine(7, "pairs");
  PairTable<int> table;
  std::map<std::pair<int, int>, int> model;
  for (int step = 0; step < 100000; ++step) {
    const auto a = static_cast<int>(random() % 40);
    const auto b = static_cast<int>(random() % 40);
    const auto known = model.find({a, b});
    const int* found = table.find(a, b);
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, known->second);
    }
    if (random() % 2 == 0) {
      table(a, b) = step;
      model[{a, b}] = step;
    } else if (found != nullptr) {
      table.erase(a, b);
      model.erase(known);
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

}  // namespace
}  // namespace collbench
