// GOAL text: every message once on both sides, with its size, and rounds in order.
#include "algorithms/exchange/goal.h"

#include <map>
#include <sstream>
#include <tuple>

#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "core/error.h"

namespace collbench {
namespace {

TEST(Goal, WritesTheRingOfTwoRanks) {
  const std::string text = to_goal(make_schedule("ring", 2), Bytes{64});
  EXPECT_EQ(text.substr(0, text.find("rank 1")),
            "num_ranks 2\n\n"
            "rank 0 {\n"
            "l1: send 32b to 1 tag 0\n"
            "l2: recv 32b from 1 tag 0\n"
            "l3: calc 0\n"
            "l3 requires l1\n"
            "l3 requires l2\n"
            "l4: send 32b to 1 tag 1\n"
            "l4 requires l3\n"
            "l5: recv 32b from 1 tag 1\n"
            "l5 requires l3\n"
            "l6: calc 0\n"
            "l6 requires l4\n"
            "l6 requires l5\n"
            "}\n\n");
}

struct Totals {
  std::map<std::tuple<int, int, int, std::int64_t>, int> balance;  // sends minus receives
  std::int64_t sent = 0;
};

Totals read_totals(const std::string& text) {
  Totals totals;
  std::istringstream lines(text);
  int rank = -1;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string label;
    std::string verb;
    in >> label >> verb;
    if (label == "rank") rank = std::stoi(verb);
    if (verb != "send" && verb != "recv") continue;
    std::int64_t bytes = 0;
    char unit = 0;
    std::string skip;
    int peer = -1;
    int tag = -1;
    EXPECT_TRUE(in >> bytes >> unit >> skip >> peer >> skip >> tag) << line;
    const bool is_send = verb == "send";
    totals.balance[{is_send ? rank : peer, is_send ? peer : rank, tag, bytes}] += is_send ? 1 : -1;
    if (is_send) totals.sent += bytes;
  }
  return totals;
}

TEST(Goal, BalancesSendsAndReceivesOfEveryAlgorithm) {
  for (const AlgorithmInfo& info : algorithms()) {
    const Totals totals = read_totals(to_goal(make_schedule(info.name, 8), Bytes{1 << 16}));
    for (const auto& [message, balance] : totals.balance) EXPECT_EQ(balance, 0) << info.name;
    // Nobody can do with less than 2 (n-1) vectors in total.
    EXPECT_GE(totals.sent, 2 * 7 * (1 << 16)) << info.name;
  }
}

TEST(Goal, LeavesOutEmptyMessagesAndOwnTermMarks) {
  const std::string text = to_goal(make_schedule("direct", 8), Bytes{4});
  EXPECT_EQ(text.find(" 0b "), text.npos);
  const Totals totals = read_totals(text);
  EXPECT_EQ(totals.sent, 2 * 7 * 4);
}

TEST(Goal, RefusesPartsOfElements) {
  EXPECT_THROW(to_goal(make_schedule("ring", 2), Bytes{6}), InvalidArgument);
  EXPECT_THROW(to_goal(make_schedule("ring", 2), Bytes{-4}), InvalidArgument);
}

}  // namespace
}  // namespace collbench
