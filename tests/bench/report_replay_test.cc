// Simulated cases played again for a picture.
#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "bench/reports/replay.h"
#include "bench/simulated/files.h"
#include "bench/simulated/team.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

Record simulated_run(const std::string& algorithm, const std::string& topology, int workers,
                     Bytes bytes) {
  Record record;
  record.point.algorithm = algorithm;
  record.point.backend = "sim";
  record.point.workers = workers;
  record.point.bytes = bytes;
  record.point.simulated.topology = topology;
  record.algorithm_chosen = algorithm;
  CaseBinder binder;
  record.measurement = measure_simulated(record.point, binder);
  return record;
}

TEST(ReplayTest, TakesTheTimeOfTheRecord) {
  for (const char* topology : {"star:4,10GBps,5us", "torus:2x2,50GBps,1us", "dgx-h100"}) {
    const int workers = topology[0] == 'd' ? 8 : 4;
    const Record record = simulated_run("ring", topology, workers, {1 << 20});
    const Replay played = replay(record.point);
    const double expected_us = record.measurement.exact->time.count() * 1e6;
    EXPECT_NEAR(played.time_us, expected_us, 1e-9 * expected_us) << topology;
    EXPECT_EQ(static_cast<std::int64_t>(played.messages.size()),
              record.measurement.exact->messages);
  }
}

TEST(ReplayTest, MessagesLieWithinTheTimeAndLinksWithinTheirCapacity) {
  const Replay played = replay(simulated_run("tree", "star:8,10GBps,5us", 8, {1 << 16}).point);
  EXPECT_GE(played.messages.size(), 14U) << "up a tree of 8 ranks and down again";
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
    const Replay played = replay(simulated_run("ring", topology, workers, {1 << 16}).point);
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
  const std::vector<Record> records = {simulated_run("tree", "star:4,10GBps,5us", 4, {1 << 22}),
                                       simulated_run("ring", "star:4,10GBps,5us", 4, {1 << 22}),
                                       simulated_run("ring", "star:4,10GBps,5us", 4, {1 << 10}),
                                       simulated_run("ring", "dgx-h100", 8, {1 << 10})};
  const std::vector<Case> cases = cases_to_replay(records, 5);
  ASSERT_THAT(cases, SizeIs(2));
  EXPECT_EQ(cases[0].simulated.topology, "dgx-h100");
  EXPECT_EQ(cases[1].algorithm, "ring");
  EXPECT_EQ(cases[1].bytes, Bytes{1 << 22});
}

TEST(ReplayTest, WhatCannotBePlayedIsANoteAndNoError) {
  Record record = simulated_run("ring", "star:4,10GBps,5us", 4, {1 << 10});
  record.point.simulated.topology = "no-such-machine";
  std::vector<std::string> notes;
  EXPECT_THAT(replays_of({record}, 5, notes), SizeIs(0));
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("could not be played again"));
}

/// What `simulate --trace FILE --links FILE` writes of a case.
struct Files {
  std::string trace;
  std::string links;
};
Files files_of(const Case& point) {
  CaseBinder binder;
  const Played played = play_case(point, binder, most_traced_transfers);
  std::ostringstream trace;
  write_chrome_trace(trace, played.scenario, played.outcome);
  std::ostringstream links;
  write_link_csv(links, played.scenario, played.outcome);
  return {trace.str(), links.str()};
}

TEST(ReplayFilesTest, NamesWithCommasAndQuotesComeBack) {
  const std::string folder = testing::TempDir();
  const std::string path = folder + "/quoted-names.toml";
  std::ofstream(path) << "summary = \"x\"\nsource = \"x\"\n[link.\"fast, \\\"new\\\"\"]\n"
                         "bandwidth = \"1 GBps\"\nlatency = \"1 us\"\nsource = \"x\"\n"
                         "[structure]\nkind = \"star\"\nhosts = 4\n"
                         "link = \"fast, \\\"new\\\"\"\nsource = \"x\"\n";
  const Replay links =
      links_from_csv(files_of(simulated_run("ring", path, 4, {1 << 10}).point).links, "l");
  ASSERT_THAT(links.links, SizeIs(8));
  EXPECT_EQ(links.links[0].link_class, "fast, \"new\"");
  EXPECT_EQ(links.links[0].bytes, 1536);
}

TEST(ReplayFilesTest, FilesGiveThePictureOfTheirCase) {
  for (const char* topology : {"cluster:2xdgx-h100", "star:4,10GBps,5us"}) {
    const int workers = topology[0] == 'c' ? 16 : 4;
    const Record record = simulated_run("ring", topology, workers, {1 << 16});
    const Replay played = replay(record.point);
    const Files files = files_of(record.point);
    const Replay trace = trace_from_json(files.trace, "t");
    const Replay links = links_from_csv(files.links, "l");
    ASSERT_TRUE(belong_together(trace, links)) << topology;
    const Replay both = joined(trace, links);

    EXPECT_DOUBLE_EQ(both.time_us, played.time_us);
    EXPECT_EQ(both.ranks, workers);
    ASSERT_EQ(both.messages.size(), played.messages.size());
    double bytes = 0;
    for (const ReplayedMessage& message : both.messages) {
      bytes += message.bytes;
      EXPECT_LE(message.ready_us, message.start_us);
      EXPECT_LT(message.start_us, message.arrival_us);
    }
    for (const ReplayedMessage& message : played.messages) bytes -= message.bytes;
    EXPECT_NEAR(bytes, 0, 1e-3);
    for (const ReplayedLink& link : both.links) {
      const auto same = std::find_if(played.links.begin(), played.links.end(), [&](const auto& l) {
        const auto name = [](const Replay& r, int v) { return r.vertices.at(v).name; };
        return name(played, l.from) == name(both, link.from) &&
               name(played, l.to) == name(both, link.to);
      });
      ASSERT_NE(same, played.links.end());
      EXPECT_NEAR(same->utilisation, link.utilisation, 1e-6);
    }
    EXPECT_THAT(both.bottleneck, HasSubstr("Busiest is "));
  }
}

TEST(ReplayFilesTest, HostsComeInTheOrderOfTheirNumbersAndSwitchesAboveThem) {
  const Files files = files_of(simulated_run("ring", "star:12,10GBps,5us", 12, {4096}).point);
  const Replay links = links_from_csv(files.links, "l");
  ASSERT_THAT(links.vertices, SizeIs(13));
  EXPECT_EQ(links.vertices[2].name, "host 2");
  EXPECT_EQ(links.vertices[10].name, "host 10");
  EXPECT_GT(links.vertices[10].x, links.vertices[9].x);
  EXPECT_FALSE(links.vertices[12].host);
  EXPECT_LT(links.vertices[12].y, links.vertices[0].y);
}

TEST(ReplayFilesTest, FilesOfOtherNetworksDoNotBelongTogether) {
  const Files cluster = files_of(simulated_run("ring", "cluster:2xdgx-h100", 16, {4096}).point);
  const Files star = files_of(simulated_run("ring", "star:4,10GBps,5us", 4, {4096}).point);
  EXPECT_FALSE(
      belong_together(trace_from_json(cluster.trace, "t"), links_from_csv(star.links, "l")));
}

TEST(ReplayFilesTest, BrokenFilesAreRefusedWithThePlace) {
  const std::string heading = "link,from,to,class,capacity_GBps,bytes,busy_us,utilisation\n";
  EXPECT_EQ(refusal([&] { links_from_csv(heading + "0,a,b,c,1,2,3\n", ""); }),
            "line 2 of a table of links has 7 fields of 8 or more");
  EXPECT_EQ(refusal([&] { links_from_csv(heading + "0,a,b,c,1,2,3,1\n0,a,b,c,1,nan,3,1\n", ""); }),
            "line 3 of a table of links: 'nan' is not a number of zero or more");
  EXPECT_EQ(refusal([&] { links_from_csv(heading, ""); }), "a table of links without rows");
  const Files files = files_of(simulated_run("ring", "star:4,10GBps,5us", 4, {4096}).point);
  EXPECT_THAT(refusal([&] { trace_from_json(files.trace.substr(0, 900), ""); }),
              HasSubstr("not a trace of collbench simulate: "));
  EXPECT_THAT(refusal([&] { trace_from_json(R"({"traceEvents":[]})", ""); }),
              HasSubstr("key 'otherData' not found"));
}

}  // namespace
}  // namespace collbench
