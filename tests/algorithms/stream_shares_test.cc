#include <cmath>

#include <gtest/gtest.h>

#include "algorithms/allreduce.h"
#include "algorithms/registry.h"
#include "algorithms/verify.h"

namespace collbench {
namespace {

// Bytes per unit of the vector that a link of each axis carries, in a reduce-scatter over rings.
std::vector<double> axis_loads(const std::vector<int>& dims, const std::vector<double>& shares) {
  std::vector<double> loads(dims.size(), 0);
  for (std::size_t s = 0; s < dims.size(); ++s) {
    double left = shares[s];
    for (std::size_t k = 0; k < dims.size(); ++k) {
      const std::size_t a = (s + k) % dims.size();
      loads[a] += left * (dims[a] - 1) / dims[a];
      left /= dims[a];
    }
  }
  return loads;
}

TEST(BalancedShares, EqualTheClosedFormForTwoWrappedAxes) {
  for (const auto& [a, b] : {std::pair{8, 16}, {4, 16}, {16, 64}, {8, 64}, {2, 3}}) {
    const double whole_a = (a - 1.0) / a;
    const double whole_b = (b - 1.0) / b;
    const double expected =
        (whole_b - whole_a / b) / (whole_a - whole_a / b + whole_b - whole_b / a);
    const std::vector<double> shares = balanced_shares({a, b}, {true, true});
    EXPECT_NEAR(shares[0], expected, 1e-12) << a << "x" << b;
    EXPECT_NEAR(shares[0] + shares[1], 1, 1e-12);
  }
}

TEST(BalancedShares, LoadTheLinksOfAllAxesEqually) {
  for (const std::vector<int>& dims : {std::vector{4, 8, 16}, {8, 8, 8}, {2, 4, 4}, {3, 5, 7, 2}}) {
    const std::vector<double> shares = balanced_shares(dims, std::vector<bool>(dims.size(), true));
    const std::vector<double> loads = axis_loads(dims, shares);
    for (std::size_t a = 0; a < dims.size(); ++a) {
      EXPECT_GT(shares[a], 0);
      EXPECT_NEAR(loads[a], loads[0], 1e-12);
    }
  }
}

TEST(BalancedShares, TorusWithThemIsAnAllReduceAndSharesItsBytesSo) {
  const Schedule schedule = make_schedule("torus:dims=4x8:shares=balanced", 32);
  const Verification proof = verify_allreduce(schedule);
  EXPECT_TRUE(proof.ok());
  EXPECT_TRUE(proof.replica_consistent);
  const std::int64_t count = 1 << 24;
  const std::int64_t boundary = schedule.partition()(schedule.chunks() / 2, count, 4);
  const double share = balanced_shares({4, 8}, {true, true})[0];
  EXPECT_NEAR(static_cast<double>(boundary) / count, share, 1e-5);
  for (const std::int64_t small : {0, 1, 5, 31, 1000}) {
    std::int64_t last = 0;
    for (int c = 0; c <= schedule.chunks(); ++c) {
      const std::int64_t next = schedule.partition()(c, small, 4);
      EXPECT_GE(next, last);
      last = next;
    }
    EXPECT_EQ(schedule.partition()(0, small, 4), 0);
    EXPECT_EQ(last, small);
  }
}

}  // namespace
}  // namespace collbench
