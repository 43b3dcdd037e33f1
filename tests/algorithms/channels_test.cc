// Channels leave every node by another member and share the wires inside nodes.
#include "algorithms/channels.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

TEST(ChannelsTest, EveryOrderHasAllMembersOfANodeBeforeThoseOfTheNext) {
  for (const Channels channels : {Channels{1, 1}, {2, 2}, {3, 3}, {4, 8}, {5, 8}, {8, 8}, {7, 7}}) {
    std::set<Rank> first;
    std::set<Rank> last;
    for (int c = 0; c < channels.count; ++c) {
      const std::vector<Rank> order = channel_order(channels, 3 * channels.node, c);
      ASSERT_EQ(std::ssize(order), 3 * channels.node);
      for (int node = 0; node < 3; ++node) {
        const auto begin = order.begin() + node * channels.node;
        const std::set<Rank> members(begin, begin + channels.node);
        EXPECT_EQ(std::ssize(members), channels.node);
        EXPECT_EQ(*members.begin(), node * channels.node);
        EXPECT_EQ(*members.rbegin(), (node + 1) * channels.node - 1);
      }
      first.insert(order[0]);
      last.insert(order[static_cast<std::size_t>(channels.node) - 1]);
    }
    EXPECT_EQ(std::ssize(first), channels.count) << "enter by another member each";
    EXPECT_EQ(std::ssize(last), channels.count) << "leave by another member each";
  }
}

TEST(ChannelsTest, NoTwoPassBetweenTwoMembersInTheSameDirection) {
  for (const int node : {2, 4, 6, 8, 16}) {
    std::map<std::pair<Rank, Rank>, int> passes;
    for (int c = 0; c < node; ++c) {
      const std::vector<Rank> order = channel_order({node, node}, 2 * node, c);
      for (int i = 0; i + 1 < node; ++i) {
        ++passes[{order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(i) + 1]}];
      }
    }
    EXPECT_EQ(std::ssize(passes), node * (node - 1)) << "all wires of a full mesh, both ways";
    for (const auto& [pair, times] : passes) EXPECT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace collbench
