// Predictions equal the closed forms where no link is shared, and name what bounds them.
#include "heuristics/predict.h"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"

#include "algorithms/registry.h"
#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/round_costs.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

constexpr double alpha = 1e-6;  // seconds
constexpr double rate = 50e9;   // bytes per second

LinkClass wire(double bytes_per_second = rate, double latency = alpha) {
  return {"wire", {bytes_per_second}, 1, Seconds{latency}, 0, ""};
}

Machine star_machine(int hosts) { return {star(hosts, wire()), {}, "", ""}; }

std::vector<Host> in_order(int ranks) {
  std::vector<Host> hosts(static_cast<std::size_t>(ranks));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

Prediction predicted(const std::string& spec, int ranks, double bytes, const Machine& machine) {
  const VectorSpec workload{static_cast<std::int64_t>(bytes / 4), DataType::f32, "", true};
  return predict(make_schedule(spec, ranks), machine, in_order(ranks), workload);
}

void expect_seconds(Seconds value, double expected, const std::string& what) {
  EXPECT_NEAR(value.count(), expected, 1e-9 * expected) << what;
}

TEST(Predict, EqualsTheClosedFormOfTheRing) {
  for (const int n : {2, 3, 8, 100, 1024}) {
    const Prediction ring = predicted("ring", n, 1 << 20, star_machine(n));
    expect_seconds(ring.latency, 2 * (n - 1) * alpha, "latency");
    expect_seconds(ring.bandwidth, 2.0 * (n - 1) / n * (1 << 20) / rate, "bandwidth");
    EXPECT_EQ(ring.messages, 2LL * (n - 1) * n);
  }
}

TEST(Predict, EqualsTheClosedFormOfHalvingDoublingAndRecursiveDoubling) {
  for (const int exponent : {1, 3, 7, 10}) {
    const int n = 1 << exponent;
    const double bytes = 1 << 20;
    const Prediction halving = predicted("halving-doubling", n, bytes, star_machine(n));
    expect_seconds(halving.latency, 2 * exponent * alpha, "latency");
    expect_seconds(halving.bandwidth, 2.0 * (n - 1) / n * bytes / rate, "bandwidth");
    const Prediction doubling = predicted("recursive-doubling", n, bytes, star_machine(n));
    expect_seconds(doubling.time(), exponent * (alpha + bytes / rate), "recursive doubling");
  }
}

TEST(Predict, SharesTheLinkOfARankAmongItsMessages) {
  // Two rounds, in each of which n - 1 messages of 1/n of the vector leave and reach every rank.
  const Prediction direct = predicted("direct", 16, 1 << 20, star_machine(16));
  expect_seconds(direct.time(), 2 * (alpha + 15.0 / 16 * (1 << 20) / rate), "direct");
}

// The same without saying which rounds are alike.
Schedule with_runs_apart(const Schedule& schedule) {
  const auto play = [schedule](Rank r, int t, Round& out) { schedule.round(r, t, out); };
  const Schedule apart(schedule.name(), {schedule.ranks(), schedule.chunks(), schedule.rounds()},
                       play, schedule.partition());
  std::vector<Schedule> tracks;
  for (const Schedule& track : schedule.tracks()) tracks.push_back(with_runs_apart(track));
  return tracks.empty() ? apart : apart.with_tracks(tracks);
}

TEST(Predict, LooksAtAlikeRoundsOnceWithoutChangingTheResult) {
  const Machine machine{torus({4, 3, 2}, {true, true, false}, {wire()}), {}, "", ""};
  for (const Instance& instance : instances({5, 16, 24})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    const Schedule apart = with_runs_apart(schedule);
    const VectorSpec workload{1 << 18, DataType::f32, "", true};
    const std::vector<Host> hosts = in_order(instance.ranks);
    const Prediction once = predict(schedule, machine, hosts, workload);
    const Prediction all = predict(apart, machine, hosts, workload);
    EXPECT_NEAR(once.time().count(), all.time().count(), 1e-12 * all.time().count())
        << instance_name(instance);
    EXPECT_EQ(once.messages, all.messages);
    EXPECT_EQ(once.messages, count_cost(schedule).total_messages) << instance_name(instance);
  }
}

TEST(Predict, AddsReductionCapInflationAndOverhead) {
  Machine machine = star_machine(4);
  machine.costs.reduction_rate = {10e9};
  machine.costs.message_cap = {20e9};
  machine.costs.wire_factor = 1.25;
  machine.costs.per_collective = Seconds{5e-6};
  machine.costs.message_latency = {{{0}, Seconds{2e-6}}, {{1000}, Seconds{3e-6}}};
  const Prediction ring = predicted("ring", 4, 4000, machine);
  expect_seconds(ring.latency, 6 * (alpha + 3e-6), "latency of messages of 1000 bytes");
  expect_seconds(ring.bandwidth, 6 * 1250 / 20e9, "inflated and capped");
  expect_seconds(ring.reduction, 3 * 1000 / 10e9, "three rounds reduce");
  expect_seconds(ring.overhead, 5e-6, "overhead");
  expect_seconds(ring.time(),
                 ring.latency.count() + ring.bandwidth.count() + ring.reduction.count() + 5e-6,
                 "sum");
}

TEST(Predict, MessagesOfARankWaitForEachOthersGaps) {
  Machine machine = star_machine(8);
  const double plain = predicted("direct", 8, 4000, machine).latency.count();
  machine.costs.message_gap = {Seconds{1e-6}};
  expect_seconds(predicted("direct", 8, 4000, machine).latency, plain + 2 * 6e-6,
                 "seven messages at once, in each of two rounds");
  const Prediction ring = predicted("ring", 8, 4000, machine);
  expect_seconds(ring.latency, 14 * alpha, "one message at a time waits for nothing");
  const Prediction central = predicted("reduce-broadcast", 8, 4000, machine);
  expect_seconds(central.reduction, 6e-6, "the root receives seven");
  expect_seconds(central.latency, 2 * alpha + 6e-6, "and sends seven");
}

TEST(Predict, TakesTheCostsOfTheProtocol) {
  Machine machine = star_machine(2);
  machine.costs.protocols = {{"LL", 2, {Seconds{-0.5e-6}}, {}, ""}};
  const Schedule schedule = make_schedule("recursive-doubling", 2);
  const VectorSpec workload{1000, DataType::f32, "LL", true};
  const Prediction prediction = predict(schedule, machine, in_order(2), workload);
  expect_seconds(prediction.time(), alpha - 0.5e-6 + 8000 / rate, "LL");
  const VectorSpec unknown{1000, DataType::f32, "LL128", true};
  EXPECT_THAT([&] { predict(schedule, machine, in_order(2), unknown); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("no protocol 'LL128'")));
}

TEST(Predict, ALadderIsWhatEachProtocolAloneGives) {
  Machine machine = star_machine(12);
  machine.costs.wire_factor = 1.25;
  machine.costs.reduction_rate = Bandwidth{10e9};
  machine.costs.message_latency = {{Bytes{1000}, Seconds{2e-6}}};
  machine.costs.protocols = {
      {"LL", 2, {Seconds{-0.5e-6}}, {Bandwidth{10e9}}, ""},
      {"LL128", 1.1, {Seconds{1e-7}}, {}, ""},
      {"Simple", 1, {Seconds{4e-6}}, {Bandwidth{30e9}}, "", {Seconds{2e-6}}}};
  for (const char* spec : {"ring", "direct", "double-tree", "halving-doubling"}) {
    const Schedule schedule = make_schedule(spec, 12);
    VectorSpec workload{12345, DataType::f32, "", {}};
    const std::vector<Prediction> ladder =
        predict_ladder(schedule, machine, in_order(12), workload);
    ASSERT_EQ(ladder.size(), 3U);
    for (std::size_t k = 0; k < ladder.size(); ++k) {
      workload.protocol = machine.costs.protocols[k].name;
      const Prediction alone = predict(schedule, machine, in_order(12), workload);
      EXPECT_EQ(ladder[k].time(), alone.time()) << spec << ' ' << workload.protocol;
      EXPECT_EQ(ladder[k].messages, alone.messages);
      EXPECT_EQ(ladder[k].bottleneck, alone.bottleneck);
      EXPECT_EQ(ladder[k].at_bottleneck, alone.at_bottleneck);
    }
  }
  machine.costs.protocols.clear();
  const Schedule ring = make_schedule("ring", 12);
  const VectorSpec workload{12345, DataType::f32, "", {}};
  const std::vector<Prediction> one = predict_ladder(ring, machine, in_order(12), workload);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].time(), predict(ring, machine, in_order(12), workload).time());
}

TEST(Predict, MessagesBetweenTwoRanksInOneRoundShareTheirLinkOnce) {
  // Both trees of four ranks use the link from 1 to 2, one up and one down, each with 8 segments of
  // an eighth of half of the vector: the link is never idle.
  const Machine machine{fully_connected(4, wire(rate, 0)), {}, "", ""};
  const double bytes = 1 << 20;
  expect_seconds(predicted("double-tree", 4, bytes, machine).time(), bytes / rate, "time");
}

TEST(Predict, WhatARankSendsInRoundsWithoutReceivingFlowsAtOnce) {
  // The sum goes up in 3 rounds. Then rank 0 sends to three at once, the last of which sends to two
  // at once, of which one sends on.
  const double bytes = 1 << 20;
  const Prediction eight = predicted("binomial", 8, bytes, star_machine(8));
  expect_seconds(eight.bandwidth, (3 + 3 + 2 + 1) * bytes / rate, "bandwidth");
  expect_seconds(eight.latency, 6 * alpha, "latency");
}

TEST(Predict, TracksWhoseMessagesCostTheSameStayInEachOthersWay) {
  // All 16 ranks send in both tracks in each of the 12 rounds.
  const double bytes = 1 << 20;
  const Prediction torus = predicted("torus:dims=4x4", 16, bytes, star_machine(16));
  expect_seconds(torus.time(), 12 * alpha + 2 * 15.0 / 16 * bytes / rate, "in step");
}

TEST(Predict, NoLinkIsBusyBeforeTheFirstMessageHasCrossedTheNetwork) {
  const Prediction torus = predicted("torus:dims=4x4", 16, 1 << 26, star_machine(16));
  EXPECT_GE(torus.time().count(), (torus.at_bottleneck.count() + alpha) * (1 - 1e-12));
}

// Few ranks remember their routes, more of them do not; neither changes a prediction.
TEST(Predict, SchedulesThatShareRoutesAreTimedAsAloneAndAskForEachRouteOnce) {
  for (const int ranks : {12, 600}) {
    const Topology inner = star(ranks, wire());
    int asked = 0;
    const Topology counting("counting", inner.hosts(), inner.vertices(), inner.layout(),
                            {inner.classes().begin(), inner.classes().end()},
                            {inner.links().begin(), inner.links().end()},
                            [&](Host from, Host to, std::vector<LinkId>& out) {
                              ++asked;
                              inner.route(from, to, out);
                            });
    const Machine machine{counting, {}, "", ""};
    const std::vector<Host> placement = in_order(ranks);
    const VectorSpec workload{12345, DataType::f32, "", true};
    RoundSpace space(counting, placement);
    for (const char* spec : {"ring", "ring:bidirectional", "circulant", "double-tree"}) {
      const Schedule schedule = make_schedule(spec, ranks);
      const Prediction alone = predict(schedule, machine, placement, workload);
      asked = 0;
      for (int again = 0; again < 2; ++again) {
        const Prediction shared =
            predict_ladder(schedule, machine, placement, workload, &space).front();
        EXPECT_EQ(shared.time(), alone.time()) << spec << ", " << ranks << " ranks";
        EXPECT_EQ(shared.bottleneck, alone.bottleneck) << spec;
        if (ranks == 12 && again == 1) {
          EXPECT_EQ(asked, 0) << spec;
        }
        asked = 0;
      }
    }
  }
}

TEST(Predict, NamesTheSlowLinkAsBottleneck) {
  const Host host = 3;
  const double factor = 0.25;
  const Machine machine{star(8, wire()).slowed({&host, 1}, {&factor, 1}), {}, "", ""};
  const Prediction ring = predicted("ring", 8, 1 << 20, machine);
  ASSERT_GE(ring.bottleneck, 0);
  const Link& link = machine.topology.links()[ring.bottleneck];
  EXPECT_TRUE(link.from == 3 || link.to == 3);
  expect_seconds(ring.at_bottleneck, 4 * 2 * 7.0 / 8 * (1 << 20) / rate, "a quarter of the rate");
  EXPECT_GE(ring.time(), ring.at_bottleneck);
}

TEST(Predict, UsesTheTrueChunksUnlessTheirRoundsAreTooMany) {
  // 65 elements in 8 chunks: in every round some rank sends the one chunk of 9 elements.
  const Schedule small = make_schedule("ring", 8);
  const Prediction exact =
      predict(small, star_machine(8), in_order(8), {65, DataType::f32, "", {}});
  expect_seconds(exact.bandwidth, 14 * 36 / rate, "chunks of 9 elements");
  const Schedule large = make_schedule("ring", 2000);
  const Prediction equated =
      predict(large, star_machine(2000), in_order(2000), {2001, DataType::f32, "", {}});
  expect_seconds(equated.bandwidth, 3998 * 4 * 2001.0 / 2000 / rate, "equal shares");
}

// More turns than those above which chunks that differ by rounding are taken as equal.
TEST(Predict, ARingOfManyRanksStillTakesItsLargestShareForEveryStep) {
  constexpr int ranks = 2050;
  Collective uneven{CollectiveKind::all_gather, 0, std::vector<std::int64_t>(ranks, 64)};
  uneven.counts[0] = 1 << 20;
  const std::int64_t count = (1 << 20) + 64 * (ranks - 1);
  const Schedule ring = make_schedule(AlgorithmSpec{"ring", {}}, ranks, Bytes{count * 4}, uneven);
  const Prediction time = predict(ring, star_machine(ranks), in_order(ranks), {.count = count});
  expect_seconds(time.time(), (ranks - 1) * (alpha + 4.0 * (1 << 20) / rate), "largest share");
}

TEST(Predict, RefusesPlacementsThatDoNotFit) {
  const Schedule schedule = make_schedule("ring", 4);
  const Machine machine = star_machine(4);
  EXPECT_THROW(predict(schedule, machine, in_order(3), {}), InvalidArgument);
  const std::vector<Host> outside{0, 1, 2, 4};
  EXPECT_THROW(predict(schedule, machine, outside, {}), InvalidArgument);
}

TEST(PredictInNetwork, IsLatencyAndOnePassOfTheVector) {
  Machine machine = star_machine(8);
  EXPECT_THROW(predict_in_network(machine, 8, {1000}), InvalidArgument);
  machine.costs.in_network = InNetwork{"nvls", Seconds{7e-6}, {400e9}, 8, ""};
  machine.costs.per_collective = Seconds{1e-6};
  expect_seconds(predict_in_network(machine, 8, {400'000}).time(), 9e-6, "7 + 1 + 1 us");
  expect_seconds(predict_in_network(machine, 2, {700'000}).time(), 9e-6, "as fast on the bus");
  EXPECT_THAT([&] { predict_in_network(machine, 9, {1}); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("at most 8 ranks")));
  Machine halves = machine;
  halves.topology = cluster(star(4, machine.topology.classes()[0]), 2,
                            {.adapter = machine.topology.classes()[0], .adapters_per_node = 4});
  EXPECT_NO_THROW(predict_in_network(halves, 4, {8}));
  EXPECT_THAT([&] { predict_in_network(halves, 8, {8}); },
              testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr("inside a node only")));
  const auto add = [&](TypedOp what) { return predict_in_network(machine, 8, {8}, what); };
  EXPECT_NO_THROW(add({DataType::f32, ReduceOp::avg})) << "a sum";
  EXPECT_THAT(
      [&] {
        add({DataType::f32, ReduceOp::max});
      },
      testing::ThrowsMessage<InvalidArgument>("nvls has no max of f32"));
  machine.costs.in_network->name = "sharp";
  EXPECT_NO_THROW(add({DataType::f32, ReduceOp::max}));
  EXPECT_THROW(add({DataType::f32, ReduceOp::prod}), InvalidArgument);
}

}  // namespace
}  // namespace collbench
