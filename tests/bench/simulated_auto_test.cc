// `auto` of a simulated case, and what it is compared with: one placement, one model.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "bench/simulated/team.h"
#include "heuristics/policies/policy.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::HasSubstr;

Case case_on(const std::string& topology, const std::string& algorithm, int workers, Bytes bytes) {
  Case point;
  point.algorithm = algorithm;
  point.backend = "sim";
  point.workers = workers;
  point.bytes = bytes;
  point.simulated.topology = topology;
  return point;
}

TEST(SimulatedAuto, RanksThatDoNotFillTheirNodesSitWhereSelectAndNcclHaveThem) {
  CaseBinder binder;
  const char* const cluster = "cluster:2xdgx-h100";
  Case point = case_on(cluster, "auto", 12, 64_MiB);
  point.algorithm = binder.decide_algorithm(point).algorithm;
  const Machine network = machine(cluster, 12);
  Question question;
  question.bytes = 64_MiB;
  question.workers = 12;
  question.nodes = 2;
  question.machine = &network;
  const Answer answer = ask(find_policy("auto"), question);
  EXPECT_EQ(point.algorithm, answer.algorithm);
  const double selected = answer.candidates.front().time->count();
  EXPECT_NEAR(measure_simulated(point, binder).exact->time.count(), selected, 0.02 * selected);

  const auto time = [&](const Case& one) { return measure_simulated(one, binder).exact->time; };
  Case ring = case_on(cluster, "ring:channels=6", 12, 64_MiB);
  const Seconds spread = time(ring);
  ring.algorithm += ":node=6";
  ring.simulated.mapping = "0,1,2,3,4,5,8,9,10,11,12,13";
  EXPECT_EQ(time(ring), spread);
  ring.simulated.mapping = "0,1,2,3,4,5,6,7,8,9,10,11";
  EXPECT_GT(time(ring), 2 * spread);
}

TEST(SimulatedAuto, NcclOnNodesThatAreNotAlikeIsRefusedBeforeAnythingIsPlayed) {
  CaseBinder binder;
  const Case point = case_on("cluster:2xdgx-h100", "nccl", 9, 64_MiB);
  EXPECT_THAT(refusal([&] { binder.require_playable(point); }), HasSubstr("take a multiple of 2"));
}

}  // namespace
}  // namespace collbench
