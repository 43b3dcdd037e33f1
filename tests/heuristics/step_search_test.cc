// Steps that a solver finds, and what is made of answers that are none.
#include "heuristics/synthesis/step_search.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "algorithms/verify.h"
#include "core/error.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/import/import_topology.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

bool has_z3() { return std::system("command -v z3 >/dev/null") == 0; }

std::string z3(const std::string& question) {
  const std::string path =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".smt2";
  std::ofstream(path) << question;
  std::FILE* output = popen(("z3 -model -T:60 " + path).c_str(), "r");
  std::string text;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) text += static_cast<char>(c);
  pclose(output);
  std::filesystem::remove(path);
  return text;
}

Topology small_network(const std::string& name) {
  return import_topology_file(COLLBENCH_SOURCE_DIR "/tests/heuristics/networks/" + name + ".csv")
      .topology.with_latency(Seconds{1e-6});
}

constexpr Seconds no_limit{1e9};

// All-gathers of the fewest steps; their rounds for a chunk are what the slowest rank's links
// bound.
TEST(StepSearchWithZ3, FindsTheFewestStepsThatExist) {
  if (!has_z3()) GTEST_SKIP() << "z3 is not installed";
  struct Case {
    const char* network;
    StepPoint point;
  };
  for (const auto& [name, point] : {Case{"fullmesh_4_cut", {2, 2, 3}}, Case{"ring_8", {2, 4, 7}}}) {
    const Topology network = small_network(name);
    const StepSearch found =
        search_steps(network, CollectiveKind::all_gather, Bytes{0}, no_limit, z3);
    ASSERT_TRUE(found.schedule) << name;
    EXPECT_EQ(found.point.steps, point.steps) << name;
    EXPECT_EQ(found.point.rounds * point.chunks, point.rounds * found.point.chunks) << name;
    EXPECT_TRUE(verify(*found.schedule, {CollectiveKind::all_gather}).ok()) << name;
    EXPECT_EQ(found.schedule->rounds(), point.steps) << name;
  }
}

TEST(StepSearchWithZ3, TurnsThemRoundForSumsAndPlaysThemWhereTheyAreFaster) {
  if (!has_z3()) GTEST_SKIP() << "z3 is not installed";
  for (const auto& [name, steps] : {std::pair{"fullmesh_4_cut", 2}, std::pair{"ring_8", 4}}) {
    for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      const StepSearch found = search_steps(small_network(name), kind, Bytes{0}, no_limit, z3);
      ASSERT_TRUE(found.schedule) << name;
      const Verification proof = verify(*found.schedule, {kind});
      EXPECT_TRUE(proof.ok()) << name << ": " << proof.violations[0].what;
      EXPECT_EQ(found.schedule->rounds(), kind == CollectiveKind::all_reduce ? 2 * steps : steps);
    }
  }
  const Topology network = small_network("fullmesh_4_cut");
  SynthesisedPlan plan = synthesise_shallow(network, CollectiveKind::all_gather);
  const auto by_rounds = [](const Schedule& schedule) { return Seconds{1.0 * schedule.rounds()}; };
  add_steps(plan, Bytes{0}, z3, by_rounds);
  EXPECT_TRUE(plan.plays_steps);  // as many steps as the trees have hops, but fuller links
  EXPECT_EQ(to_schedule(plan, Bytes{1}).rounds(), 2);
  // With a size, what is given as their time decides.
  for (const double factor : {0.5, 2.0}) {
    SynthesisedPlan other = synthesise(network, CollectiveKind::all_gather);
    double time = 1;  // of the trees, which are asked about first
    add_steps(other, Bytes{1 << 16}, z3,
              [&](const Schedule&) { return Seconds{std::exchange(time, factor)}; });
    EXPECT_EQ(other.plays_steps, factor < 1);
  }
}

TEST(StepSearch, AsksForTheCheapestFirstAndOnlyBelowTheLimit) {
  const Topology network = small_network("ring_8");
  std::vector<std::string> asked;
  const auto refute = [&](const std::string& question) {
    asked.push_back(question);
    return "unsat\n";
  };
  // Four steps, and 7/2 rounds a chunk of 16 KiB at 25 GB/s (the slower links of the file).
  const StepSearch none =
      search_steps(network, CollectiveKind::all_gather, Bytes{1 << 17}, Seconds{6e-6}, refute);
  EXPECT_FALSE(none.schedule);
  EXPECT_EQ(none.refuted, static_cast<int>(asked.size()));
  EXPECT_EQ(none.left_open, 0);
  const StepSearch more =
      search_steps(network, CollectiveKind::all_gather, Bytes{1 << 17}, Seconds{8e-6}, refute);
  EXPECT_GT(more.refuted, none.refuted);
}

TEST(StepSearch, WhatTheSolverDoesNotKnowIsLeftOpen) {
  const StepSearch open = search_steps(
      small_network("ring_8"), CollectiveKind::all_gather, Bytes{1 << 17}, Seconds{8e-6},
      [](const std::string& text) { return text.size() % 2 == 0 ? "unknown\n" : "timeout\n"; });
  EXPECT_FALSE(open.schedule);
  EXPECT_EQ(open.refuted, 0);
  EXPECT_GT(open.left_open, 0);
}

TEST(StepSearch, RefusesAnswersThatAreNoneAndModelsThatAreNoSchedule) {
  const auto message = [](const std::string& answer) {
    try {
      search_steps(small_network("ring_8"), CollectiveKind::all_gather, Bytes{0}, no_limit,
                   [&](const std::string&) { return answer; });
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("(error \"line 1\")\nunsat"), HasSubstr("answered '(error \"line 1\")'"));
  EXPECT_THAT(message(""), HasSubstr("neither sat nor unsat"));
  EXPECT_THAT(message("sat\n()"), HasSubstr("is not an all-gather"));
  EXPECT_THAT(message("sat\n((define-fun m_0_0_1_1 () Bool true) (define-fun m_0_"),
              HasSubstr("is not an all-gather"));
}

TEST(StepSearch, SaysForWhatItIsNot) {
  EXPECT_EQ(no_steps_because(small_network("ring_8"), CollectiveKind::all_reduce), "");
  EXPECT_THAT(no_steps_because(small_network("torus_4x4"), CollectiveKind::all_gather),
              HasSubstr("16 ranks are more than 8"));
  EXPECT_EQ(no_steps_because(small_network("ring_5_uni"), CollectiveKind::all_gather), "");
  EXPECT_THAT(no_steps_because(small_network("ring_5_uni"), CollectiveKind::all_reduce),
              HasSubstr("not alike in both directions"));
}

}  // namespace
}  // namespace collbench
