// What the verifier says about rounding is what floats do.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/algorithms/simulated_ranks.h"

#include "algorithms/verify.h"

namespace collbench {
namespace {

constexpr int elements = 200;

bool all_ranks_agree(const Vectors& vectors) {
  for (const std::vector<float>& vector : vectors) {
    if (vector != vectors[0]) return false;
  }
  return true;
}

TEST(Rounding, IsTheSameOnAllRanksExactlyWhereTheVerifierSaysSo) {
  for (const Instance& instance : instances({2, 3, 7, 8, 9, 16, 24, 32})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    const Vectors outputs = play(schedule, random_vectors(instance.ranks, elements, 3));
    EXPECT_EQ(all_ranks_agree(outputs), verify_allreduce(schedule).replica_consistent)
        << instance.spec << " with " << instance.ranks;
  }
}

TEST(Rounding, StaysNearTheExactSum) {
  for (const Instance& instance : instances({5, 8, 24})) {
    const Vectors inputs = random_vectors(instance.ranks, elements, 4);
    const Vectors outputs = play(make_schedule(instance.spec, instance.ranks), inputs);
    for (int i = 0; i < elements; ++i) {
      double exact = 0;
      for (const std::vector<float>& input : inputs) exact += input[i];
      for (const std::vector<float>& output : outputs) {
        ASSERT_NEAR(output[i], exact, exact * instance.ranks * 6e-8) << instance.spec;
      }
    }
  }
}

TEST(Rounding, IsThatOfRankOrderInAllAlgorithmsThatFoldAtOneRank) {
  for (const int n : {3, 8, 13}) {
    const Vectors inputs = random_vectors(n, elements, 5);
    std::vector<float> expected = inputs[0];
    for (int r = 1; r < n; ++r) {
      for (int i = 0; i < elements; ++i) expected[i] += inputs[r][i];
    }
    for (const char* spec : {"direct", "one-shot", "reduce-broadcast:root=2", "parameter-server"}) {
      EXPECT_EQ(play(make_schedule(spec, n), inputs)[n - 1], expected) << spec << " with " << n;
    }
    EXPECT_NE(play(make_schedule("ring", n), inputs)[0], expected) << n;
  }
}

}  // namespace
}  // namespace collbench
