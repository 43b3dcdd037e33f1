#include <fstream>
#include <sstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/records/record_json.h"
#include "bench/simulated/files.h"
#include "bench/simulated/sweep.h"
#include "bench/simulated/team.h"
#include "bench/simulated/values.h"
#include "core/error.h"
#include "core/json.h"
#include "heuristics/calibration/fitted_machine.h"
#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Case simulated_case(const std::string& topology, const std::string& algorithm, int workers,
                    std::int64_t bytes) {
  Case point;
  point.algorithm = algorithm;
  point.backend = "sim";
  point.workers = workers;
  point.bytes = Bytes{bytes};
  point.simulated.topology = topology;
  return point;
}

TEST(SimulatedTeam, RingOnAStarTakesTheClosedForm) {
  CaseBinder binder;
  const Measurement measured =
      measure_simulated(simulated_case("star:8,50GBps,1us", "ring", 8, 1 << 20), binder);
  ASSERT_TRUE(measured.exact);
  const double expected = 14 * (1e-6 + (1 << 20) / 8 / 50e9);
  EXPECT_NEAR(measured.exact->time.count(), expected, 1e-9 * expected);
  EXPECT_EQ(measured.exact->messages, 14 * 8);
  EXPECT_EQ(measured.exact->rounds, 14);
  EXPECT_EQ(measured.latency_ns.size(), 1U);
  EXPECT_NEAR(static_cast<double>(measured.latency_ns[0]), expected * 1e9, 0.5);
  EXPECT_THAT(measured.exact->bottleneck, HasSubstr("host"));
}

/// A file of `calibrate` with so many ranks on two cores, whose times no star of links has.
std::string host_file(const std::string& name) {
  std::vector<MeasuredTime> rows;
  for (const int ranks : {2, 4}) {
    for (const char* algorithm : {"ring", "direct"}) {
      for (std::int64_t bytes = 1 << 10; bytes <= 4 << 20; bytes *= 8) {
        MeasuredTime row;
        row.library = "shm";
        row.algorithm = algorithm;
        row.scale = {ranks, 1, {}, 2};
        row.bytes = Bytes{bytes};
        row.time = Seconds{1e-6 * ranks * ranks + 1e-10 * static_cast<double>(bytes * ranks)};
        rows.push_back(row);
      }
    }
  }
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << to_toml(Calibration(rows), "a host", "made");
  return path;
}

TEST(SimulatedTeam, AFittedFileAnswersAsValidateDoes) {
  const std::string path = host_file("fitted_host.toml");
  const Calibration fit = *calibration_of(path);
  CaseBinder binder;
  for (const int workers : {4, 6}) {
    const Measurement measured =
        measure_simulated(simulated_case(path, "ring", workers, 64 << 10), binder);
    MethodKey ring = fit.structures().front().methods().front();
    ring.algorithm = "ring";
    const Estimate estimate = *fit.estimate(ring, {workers, 1, {}, 2}, Bytes{64 << 10});
    EXPECT_EQ(measured.exact->time, estimate.time) << workers;
    EXPECT_THAT(measured.exact->why, HasSubstr("host-memory network, fitted to 20 times"));
  }
  Case automatic = simulated_case(path, "auto", 6, 64 << 10);
  automatic.algorithm = binder.decide_algorithm(automatic).algorithm;
  EXPECT_THAT(measure_simulated(automatic, binder).exact->why, HasSubstr("fitted"));
}

TEST(SimulatedTeam, OfSeveralFitsInAFileTheOneWithTheMostPointsAnswersAndIsNamed) {
  std::vector<MeasuredTime> rows;
  for (const auto& [system, slower, scales] :
       {std::tuple{"a", 10.0, std::vector{8}}, {"b", 1.0, std::vector{4, 8}}}) {
    for (const int nodes : scales) {
      for (std::int64_t bytes = 1 << 10; bytes <= 16 << 20; bytes *= 4) {
        MeasuredTime row;
        row.system = system;
        row.library = "OMPI 4.1.5";
        row.algorithm = "ring_ompi";
        row.scale = {nodes, nodes};
        row.bytes = Bytes{bytes};
        row.time = Seconds{slower * (2e-6 * nodes + 2e-9 * static_cast<double>(bytes))};
        rows.push_back(row);
      }
    }
  }
  const std::string path = testing::TempDir() + "two_systems.toml";
  std::ofstream(path) << to_toml(Calibration(rows), "two", "made");
  const Calibration fit = *calibration_of(path);
  ASSERT_EQ(fit.structures().size(), 2U);
  CaseBinder binder;
  const Measurement measured = measure_simulated(simulated_case(path, "ring", 8, 1 << 20), binder);
  MethodKey ring = fit.structures().back().methods().front();
  ASSERT_EQ(ring.system, "b");
  EXPECT_EQ(measured.exact->time, fit.estimate(ring, {8, 8}, Bytes{1 << 20})->time);
  EXPECT_THAT(measured.exact->why, HasSubstr("as of b OMPI 4.1.5, measured as ring_ompi, which has "
                                             "the most points of 2"));
}

TEST(SimulatedTeam, SaysWhatTheStarOfAFittedFileLeavesOut) {
  const std::string path = host_file("fitted_host_star.toml");
  CaseBinder binder;
  Case point = simulated_case(path, "ring", 6, 64 << 10);
  point.simulated.engine = "fluid";
  EXPECT_THAT(measure_simulated(point, binder).exact->why,
              HasSubstr("not by its fit: the engine 'fluid' plays messages"));
  point.simulated.engine = "auto";
  point.simulated.stragglers = "3:10us";
  const Measurement disturbed = measure_simulated(point, binder);
  EXPECT_THAT(disturbed.exact->why, HasSubstr("disturbances"));
  EXPECT_EQ(disturbed.exact->engine, "fluid");
  EXPECT_GT(disturbed.exact->messages, 0);
}

TEST(SimulatedTeam, ExactFiguresSurviveTheRecordFileBitByBit) {
  CaseBinder binder;
  Record record;
  record.point = simulated_case("star:8,50GBps,1us", "tree", 8, 4096);
  record.point.simulated.jitter = Seconds{3e-6};
  record.point.simulated.stragglers = "3:10us";
  record.measurement = measure_simulated(record.point, binder);
  const Record back = record_from_json(to_json(record));
  EXPECT_EQ(back.measurement.exact->time, record.measurement.exact->time);
  EXPECT_EQ(to_json(back), to_json(record));
  EXPECT_EQ(back.point.simulated.stragglers, "3:10us");
}

TEST(SimulatedTeam, AlgorithmsFollowTheMachine) {
  CaseBinder binder;
  EXPECT_EQ(binder.bind(simulated_case("torus:4x2x2,50GBps,1us", "torus", 16, 4096)).algorithm,
            "torus:dims=4x2x2:shares=balanced:wrap=tmm");
  EXPECT_EQ(binder.bind(simulated_case("torus:4x4,50GBps,1us", "torus:dims=2x8", 16, 64)).algorithm,
            "torus:dims=2x8");
}

TEST(SimulatedTeam, DirectTakesTheTimeOfWhatItPlaysAtTheSize) {
  CaseBinder binder;
  for (const char* engine : {"model", "fluid", "simgrid"}) {
    const auto time = [&](const char* algorithm, std::int64_t bytes) {
      Case point = simulated_case("star:4,10GBps,1us", algorithm, 4, bytes);
      point.simulated.engine = engine;
      return measure_simulated(point, binder).exact->time;
    };
    EXPECT_EQ(time("direct", 504), time("one-shot", 504)) << engine;
    EXPECT_GT(time("direct", 508), 1.5 * time("one-shot", 508)) << engine;
  }
}

TEST(SimulatedTeam, AutoNamesTheFastestOfAllByPrediction) {
  CaseBinder binder;
  Case point = simulated_case("star:16,50GBps,10us", "auto", 16, 1024);
  const Choice decided = binder.decide_algorithm(point);
  double best = 1e9;
  std::string fastest;
  for (const char* name : {"ring", "recursive-doubling", "one-shot", "direct", "tree"}) {
    point.algorithm = name;
    point.simulated.engine = "model";
    const double time = measure_simulated(point, binder).exact->time.count();
    if (time < best) {
      best = time;
      fastest = name;
    }
  }
  EXPECT_EQ(decided.algorithm, fastest);
  EXPECT_THAT(decided.reason, HasSubstr("simulated"));
}

TEST(SimulatedTeam, AutoTakesWhatThePolicyTakesWhereNothingIsContended) {
  CaseBinder binder;
  for (const std::int64_t bytes : {1 << 10, 1 << 18, 1 << 26}) {
    const Machine network = machine("dgx-h100", 8);
    Question question;
    question.bytes = {bytes};
    question.workers = 8;
    question.machine = &network;
    const Answer answer = ask(find_policy("auto"), question);
    const Case point = simulated_case("dgx-h100", "auto", 8, bytes);
    EXPECT_EQ(binder.decide_algorithm(point).algorithm, answer.algorithm) << bytes;
  }
}

TEST(SimulatedTeam, AutoTakesSwitchesThatAddUnlessMessagesAreToBeShown) {
  const Case point = simulated_case("dgx-h100", "auto", 8, 1 << 30);
  CaseBinder binder;
  EXPECT_EQ(binder.decide_algorithm(point).algorithm, "nvls");
  CaseBinder showing(true);
  EXPECT_NE(showing.decide_algorithm(point).algorithm, "nvls");
  Case half = point;
  half.collective = CollectiveKind::all_gather;
  EXPECT_NE(binder.decide_algorithm(half).algorithm, "nvls");
}

TEST(SimulatedTeam, SwitchesThatAddAreAnAlgorithmOfTheirMachine) {
  CaseBinder binder;
  const Measurement measured =
      measure_simulated(simulated_case("dgx-h100", "nvls", 8, 1 << 30), binder);
  EXPECT_EQ(measured.exact->engine, "model");
  const double busbw = static_cast<double>(1 << 30) / measured.exact->time.count() * 2 * 7 / 8;
  EXPECT_NEAR(busbw / 1e9, 480, 6);  // NVIDIA GTC24 S62129: 480 GB/s at large sizes
  EXPECT_THROW(measure_simulated(simulated_case("dgx-2", "nvls", 16, 1 << 20), binder),
               InvalidArgument);
  for (const char* algorithm : {"nvls", "nccl:nvls"}) {
    Case product = simulated_case("dgx-h100", algorithm, 8, 1 << 30);
    product.op = ReduceOp::prod;
    EXPECT_THROW(measure_simulated(product, binder), InvalidArgument) << algorithm;
  }
}

// What is no schedule of messages cannot show what happens to them.
TEST(SimulatedTeam, RefusesDisturbancesWhereNoMessagesArePlayed) {
  CaseBinder binder;
  for (const char* algorithm : {"nvls", "nccl"}) {
    const Case plain = simulated_case("dgx-h100", algorithm, 8, 1 << 20);
    std::vector<Case> disturbed(6, plain);
    disturbed[0].simulated.stragglers = "3:1ms";
    disturbed[1].simulated.slow_hosts = "3:0.1";
    disturbed[2].simulated.jitter = Seconds{1e-5};
    disturbed[3].groups = "2x4";
    disturbed[4].simulated.engine = "fluid";
    disturbed[5].simulated.mapping = "0,1,2,3,4,5,7,6";
    for (const Case& point : disturbed) {
      EXPECT_THAT([&] { measure_simulated(point, binder); },
                  ThrowsMessage<InvalidArgument>(HasSubstr("it is not a schedule of messages")));
    }
    CaseBinder showing(true);
    EXPECT_THAT([&] { measure_simulated(plain, showing); },
                ThrowsMessage<InvalidArgument>(HasSubstr("traced or checked")));
  }
  Case point = simulated_case("dgx-h100", "auto", 8, 1 << 30);
  point.simulated.slow_hosts = "3:0.1";
  EXPECT_NE(binder.decide_algorithm(point).algorithm, "nvls");
}

TEST(SimulatedTeam, AutoPlaysAllThatArePredictedToTieWithTheFinalists) {
  CaseBinder binder;
  Case point = simulated_case("star:8,100Gbps,5us", "auto", 8, 64 << 20);
  point.simulated.slow_hosts = "3:0.1";
  point.algorithm = binder.decide_algorithm(point).algorithm;
  const Seconds chosen = measure_simulated(point, binder).exact->time;
  point.algorithm = "direct";
  EXPECT_LE(chosen, 1.001 * measure_simulated(point, binder).exact->time);
}

TEST(SimulatedTeam, AllGatherAndReduceScatterAreHalvesOfTheWhole) {
  CaseBinder binder;
  Case point = simulated_case("star:8,50GBps,1us", "ring", 8, 1 << 20);
  const double whole = measure_simulated(point, binder).exact->time.count();
  double halves = 0;
  for (const CollectiveKind half : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    point.collective = half;
    halves += measure_simulated(point, binder).exact->time.count();
  }
  EXPECT_NEAR(halves, whole, 1e-12);
  point.algorithm = "tree";
  EXPECT_THAT([&] { measure_simulated(point, binder); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("tree has no all-gather; those that have one: ring")));
}

TEST(SimulatedTeam, RefusesWhatDoesNotExistAndSaysWhatDoes) {
  CaseBinder binder;
  Case point = simulated_case("star:8,50GBps,1us", "ring", 8, 1024);
  point.simulated.protocol = "LLL";
  EXPECT_THAT([&] { binder.bind(point); }, ThrowsMessage<InvalidArgument>(HasSubstr("has none")));
  point.simulated.protocol = "auto";
  point.simulated.slow_hosts = "9:0.5";
  EXPECT_THAT([&] { binder.bind(point); },
              ThrowsMessage<InvalidArgument>(HasSubstr("hosts 0 to 7")));
  point.simulated.slow_hosts.clear();
  point.simulated.stragglers = "8:1us";
  EXPECT_THROW(measure_simulated(point, binder), InvalidArgument);
}

TEST(SimulatedValues, AreReadAndRefused) {
  const auto stragglers = parse_stragglers("3:10us,7:1ms");
  ASSERT_EQ(stragglers.size(), 2U);
  EXPECT_EQ(stragglers[1].first, 7);
  EXPECT_DOUBLE_EQ(stragglers[1].second.count(), 1e-3);
  EXPECT_THAT(parse_slow_hosts("3:0.5,4:0.25").factors, ElementsAre(0.5, 0.25));
  for (const char* text : {"3", "x:1us", "3:", ":1us", "-1:1us", "3:1us,,", "3:1us,3:2us"}) {
    EXPECT_THROW(parse_stragglers(text), InvalidArgument) << text;
  }
  for (const char* text : {"3:0", "3:1.5", "3:-1", "3:x", "3:0.5x", "3:0.5,3:0.5"}) {
    EXPECT_THROW(parse_slow_hosts(text), InvalidArgument) << text;
  }
}

TEST(SimulatedSweep, BracesGiveTheirProduct) {
  const auto range = [](const std::string& text) {
    return text == "1,2" ? std::vector{1, 2} : std::vector{4, 8};
  };
  EXPECT_THAT(expand_braces("a{1,2}b{4,8}", range), ElementsAre("a1b4", "a1b8", "a2b4", "a2b8"));
  EXPECT_THAT(expand_braces("plain", range), ElementsAre("plain"));
  EXPECT_THROW(expand_braces("a}b{", range), InvalidArgument);
  EXPECT_THROW(expand_braces("a{b", range), InvalidArgument);
}

TEST(SimulatedSweep, IsTheCrossProductWithOneRankPerHostByDefault) {
  SimulatedSweep sweep;
  sweep.topologies = {"star:4,1GBps,1us", "star:6,1GBps,1us"};
  sweep.axes.algorithms = {"ring", "halving-doubling"};
  sweep.axes.workers.clear();
  sweep.axes.first = Bytes{1024};
  sweep.axes.last = Bytes{4096};
  sweep.postings = {"eager", "rendezvous"};
  const std::vector<Case> cases = simulated_cases(sweep);
  EXPECT_EQ(cases.size(), 2U * 2 * 2 * 2);
  EXPECT_EQ(cases.front().workers, 4);
  EXPECT_EQ(cases.back().workers, 6);
  sweep.axes.workers = {5};
  EXPECT_THROW(simulated_cases(sweep), InvalidArgument);  // 5 ranks do not fit 4 hosts
}

TEST(SimulatedSweep, LeavesOutWhatDoesNotFitSomewhereAndRefusesWhatFitsNowhere) {
  SimulatedSweep sweep;
  sweep.topologies = {"star:4,1GBps,1us", "star:6,1GBps,1us"};
  sweep.axes.algorithms = {"ring", "swing"};
  sweep.axes.workers.clear();
  sweep.axes.first = sweep.axes.last = Bytes{1024};
  std::vector<std::string> left_out;
  EXPECT_EQ(simulated_cases(sweep, &left_out).size(), 3U);
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_THAT(left_out[0], testing::StartsWith("swing on 6 hosts of "));
  EXPECT_THROW(simulated_cases(sweep), InvalidArgument);
  sweep.topologies = {"star:6,1GBps,1us"};
  EXPECT_THROW(simulated_cases(sweep, &left_out), InvalidArgument);
}

TEST(ChromeTrace, HoldsEveryMessageWithItsTimes) {
  CaseBinder binder;
  const Case point = simulated_case("star:4,1GBps,1us", "ring", 4, 4096);
  const auto [scenario, outcome] = play_case(point, binder, 1000);
  std::ostringstream out;
  write_chrome_trace(out, scenario, outcome);
  const auto trace = parse_json<nlohmann::json>(out.str());
  int begins = 0;
  double last = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "b" && event.at("name") != "flows") ++begins;
    if (event.at("ph") == "e") last = std::max(last, event.at("ts").get<double>());
  }
  EXPECT_EQ(begins, 6 * 4);
  EXPECT_NEAR(last, outcome.time.count() * 1e6, 1e-9);
  EXPECT_EQ(trace.at("otherData").at("messages_left_out"), 0);
}

TEST(ChromeTrace, SaysWhatItLeftOut) {
  CaseBinder binder;
  const auto [scenario, outcome] =
      play_case(simulated_case("star:4,1GBps,1us", "ring", 4, 4096), binder, 10);
  std::ostringstream out;
  write_chrome_trace(out, scenario, outcome);
  EXPECT_EQ(parse_json<nlohmann::json>(out.str()).at("otherData").at("messages_left_out"), 14);
}

TEST(SimulatedFiles, LinksCarryWhatTheScheduleSends) {
  CaseBinder binder;
  const auto [scenario, outcome] =
      play_case(simulated_case("star:4,1GBps,1us", "ring", 4, 4096), binder);
  std::ostringstream out;
  write_link_csv(out, scenario, outcome);
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 8);
  EXPECT_THAT(text, HasSubstr(",6144,"));  // 2 (4-1)/4 of 4096 bytes
  std::ostringstream ranks;
  write_rank_csv(ranks, scenario, outcome);
  EXPECT_THAT(ranks.str(), HasSubstr("rank,3,"));
  EXPECT_THAT(ranks.str(), HasSubstr("round,5,"));
}

}  // namespace
}  // namespace collbench
