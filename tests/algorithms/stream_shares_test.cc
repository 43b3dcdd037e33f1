#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "algorithms/allreduce.h"
#include "algorithms/registry.h"
#include "algorithms/verify.h"

namespace collbench {
namespace {

// The time that balanced_shares() makes least, per unit of the vector, in a reduce-scatter.
double bound_of(const std::vector<int>& dims, const std::vector<bool>& wrap,
                const std::vector<double>& shares) {
  std::vector<double> links(dims.size(), 0);
  double longest = 0;
  for (std::size_t s = 0; s < dims.size(); ++s) {
    double left = shares[s];
    double path = 0;
    for (std::size_t k = 0; k < dims.size(); ++k) {
      const std::size_t a = (s + k) % dims.size();
      const double time = left * (dims[a] - 1) / dims[a] * (wrap[a] ? 1 : 2);
      links[a] += time;
      path += time;
      left /= dims[a];
    }
    longest = std::max(longest, path);
  }
  return std::max(longest, *std::max_element(links.begin(), links.end()));
}

// Optima of an independent solver (scipy.optimize.linprog, HiGHS, of SciPy 1.10.1).
TEST(BalancedShares, TakeTheLeastTimeThatALinearProgramFinds) {
  struct Case {
    std::vector<int> dims;
    std::vector<bool> wrap;
    double least;
  };
  const std::vector<Case> cases{{{8, 16}, {true, true}, 0.5132004310344829},
                                {{8, 16}, {false, true}, 0.6816860465116279},
                                {{4, 8}, {false, false}, 1.0432692307692308},
                                {{4, 8, 16}, {true, true, true}, 0.3564453125},
                                {{4, 4, 8}, {true, true, true}, 0.35166139240506333},
                                {{4, 32}, {true, true}, 0.5592329545454546}};
  for (const Case& c : cases) {
    const std::vector<double> shares = balanced_shares(c.dims, c.wrap);
    EXPECT_NEAR(bound_of(c.dims, c.wrap, shares), c.least, 1e-12);
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
    const std::vector<double> equal(shares.size(), 1.0 / static_cast<double>(shares.size()));
    EXPECT_GT(bound_of(c.dims, c.wrap, equal), c.least);
  }
}

TEST(BalancedShares, AreEqualWhereAxesAre) {
  for (const double share : balanced_shares({8, 8, 8}, {true, true, true})) {
    EXPECT_NEAR(share, 1.0 / 3, 1e-12);
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
