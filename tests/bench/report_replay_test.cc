// Simulated cases played again for a picture.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/replay.h"
#include "bench/simulated_team.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Record simulated(const std::string& algorithm, const std::string& topology, int workers,
                 Bytes bytes) {
  Record record;
  record.which.algorithm = algorithm;
  record.which.backend = "sim";
  record.which.workers = workers;
  record.which.bytes = bytes;
  record.which.simulated.topology = topology;
  record.algorithm_chosen = algorithm;
  CaseBinder binder;
  record.measurement = measure_simulated(record.which, binder);
  return record;
}

TEST(ReplayTest, TakesTheTimeOfTheRecord) {
  for (const char* topology : {"star:4,10GBps,5us", "torus:2x2,50GBps,1us", "dgx-h100"}) {
    const int workers = topology[0] == 'd' ? 8 : 4;
    const Record record = simulated("ring", topology, workers, {1 << 20});
    const Replay played = replay(record.which);
    const double expected_us = record.measurement.exact->time.count() * 1e6;
    EXPECT_NEAR(played.time_us, expected_us, 1e-9 * expected_us) << topology;
    EXPECT_EQ(static_cast<std::int64_t>(played.messages.size()),
              record.measurement.exact->messages);
  }
}

TEST(ReplayTest, MessagesLieWithinTheTimeAndLinksWithinTheirCapacity) {
  const Replay played = replay(simulated("tree", "star:8,10GBps,5us", 8, {1 << 16}).which);
  for (const ReplayedMessage& message : played.messages) {
    EXPECT_LE(0, message.ready_us);
    EXPECT_LE(message.ready_us, message.start_us);
    EXPECT_LT(message.start_us, message.arrival_us);
    EXPECT_LE(message.arrival_us, played.time_us * (1 + 1e-12));
  }
  for (const ReplayedLink& link : played.links) {
    EXPECT_GE(link.utilisation, 0);
    EXPECT_LE(link.utilisation, 1 + 1e-9);
  }
}

TEST(ReplayTest, NoTwoVerticesAreDrawnOnOneSpot) {
  for (const char* topology :
       {"star:8,10GBps,5us", "torus:4x4x2,50GBps,1us", "cluster:2xdgx-h100"}) {
    const int workers = topology[0] == 't' ? 32 : (topology[0] == 's' ? 8 : 16);
    const Replay played = replay(simulated("ring", topology, workers, {1 << 16}).which);
    for (std::size_t i = 0; i < played.vertices.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const ReplayedVertex& a = played.vertices[i];
        const ReplayedVertex& b = played.vertices[j];
        EXPECT_TRUE(std::abs(a.x - b.x) > 0.01 || std::abs(a.y - b.y) > 0.01)
            << topology << ": " << a.name << " and " << b.name;
      }
    }
  }
}

TEST(ReplayTest, PicksTheFastestOfTheLargestCaseOfEachTopology) {
  const std::vector<Record> records = {simulated("tree", "star:4,10GBps,5us", 4, {1 << 22}),
                                       simulated("ring", "star:4,10GBps,5us", 4, {1 << 22}),
                                       simulated("ring", "star:4,10GBps,5us", 4, {1 << 10}),
                                       simulated("ring", "dgx-h100", 8, {1 << 10})};
  const std::vector<Case> cases = cases_to_replay(records, 5);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].simulated.topology, "dgx-h100");
  EXPECT_EQ(cases[1].algorithm, "ring");
  EXPECT_EQ(cases[1].bytes, Bytes{1 << 22});
}

TEST(ReplayTest, WhatCannotBePlayedIsANoteAndNoError) {
  Record record = simulated("ring", "star:4,10GBps,5us", 4, {1 << 10});
  record.which.simulated.topology = "no-such-machine";
  std::vector<std::string> notes;
  EXPECT_THAT(replays_of({record}, 5, notes), SizeIs(0));
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("could not be played again"));
}

}  // namespace
}  // namespace collbench
