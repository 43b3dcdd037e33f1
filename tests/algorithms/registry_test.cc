// Names and options of algorithms: what is read, what is refused, and with which words.
#include "algorithms/registry.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of_spec(const std::string& spec, int ranks) {
  return refusal([&] { make_schedule(spec, ranks); });
}

TEST(AlgorithmSpec, ReadsNameFlagsAndValues) {
  const AlgorithmSpec spec = parse_algorithm_spec("torus:dims=4x4:pincer");
  EXPECT_EQ(spec.name, "torus");
  EXPECT_EQ(spec.options, (std::map<std::string, std::string>{{"dims", "4x4"}, {"pincer", ""}}));
}

TEST(AlgorithmSpec, PrintsWhatItReads) {
  for (const char* text : {"ring", "ring:segments=4", "torus:dims=4x4:pincer:wrap=1,0"}) {
    EXPECT_EQ(to_string(parse_algorithm_spec(text)), text);
    EXPECT_EQ(parse_algorithm_spec(to_string(parse_algorithm_spec(text))),
              parse_algorithm_spec(text));
  }
}

TEST(AlgorithmSpec, RefusesMalformedText) {
  for (const char* text : {"", ":", "ring:", "ring::pincer", "ring:=4", "ring:segments=", "ring=4",
                           "Ring", "ring segments", "ring:pincer:pincer", ":pincer"}) {
    EXPECT_THROW(parse_algorithm_spec(text), InvalidArgument) << text;
  }
}

TEST(Registry, HasEveryAlgorithmOfTheDesignOnce) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : algorithms()) names.emplace_back(info.name);
  EXPECT_THAT(names,
              testing::IsSupersetOf(
                  {"ring", "tree", "double-tree", "recursive-doubling", "halving-doubling",
                   "circulant", "direct", "one-shot", "hierarchical", "torus", "torus-2d", "swing",
                   "reduce-broadcast", "parameter-server", "hierarchical-copy", "tf-ring"}));
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(Registry, DirectStandsForOneShotUpTo504Bytes) {
  EXPECT_EQ(make_schedule("direct", 4, Bytes{504}).name(), "one-shot");
  EXPECT_EQ(make_schedule("direct", 4, Bytes{505}).name(), "direct");
  EXPECT_EQ(make_schedule("ring", 4, Bytes{4}).name(), "ring");
}

TEST(Registry, FillsEveryFieldOfEveryRow) {
  for (const AlgorithmInfo& info : algorithms()) {
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.constraints.empty()) << info.name;
    EXPECT_FALSE(info.source.empty()) << info.name;
    for (const AlgorithmOption& option : info.options) {
      EXPECT_FALSE(option.help.empty()) << info.name << ":" << option.name;
    }
    EXPECT_EQ(make_schedule(info.name, 4).name(), info.name);
  }
}

TEST(Registry, SuggestsTheNearestNameAndOption) {
  EXPECT_THAT(refusal_of_spec("rign", 4),
              HasSubstr("unknown algorithm 'rign'. Did you mean 'ring'?"));
  EXPECT_THAT(refusal_of_spec("ring:segment=4", 4), HasSubstr("Did you mean 'segments'?"));
  EXPECT_THAT(refusal_of_spec("direct:segments=4", 4), HasSubstr("It has no options"));
  EXPECT_THAT(refusal_of_spec("halving-doubling:near", 4), HasSubstr("the options order"));
}

TEST(Registry, RefusesImpossibleCombinationsSayingWhatWouldFit) {
  EXPECT_THAT(refusal_of_spec("torus:dims=3x3", 8),
              HasSubstr("dims=3x3 makes 9 ranks, not 8; 2x4 would"));
  for (const char* name : {"swing", "recursive-doubling", "halving-doubling"}) {
    EXPECT_THAT(refusal_of_spec(std::string(name) + ":dims=2x4", 6),
                HasSubstr("with option dims the ranks must be a power of two, not 6"));
  }
  EXPECT_THAT(
      refusal([] {
        make_schedule({"halving-doubling", {}}, 3, Bytes{0}, {CollectiveKind::reduce_scatter});
      }),
      AllOf(HasSubstr("others are"), HasSubstr("ring, circulant, direct")));
  EXPECT_THAT(refusal_of_spec("swing", 6), HasSubstr("possible are 4 and 8"));
  EXPECT_THAT(refusal_of_spec("ring", 0), HasSubstr("ranks must be at least 1, not 0"));
  EXPECT_THAT(refusal_of_spec("ring:bidirectional:pincer", 4),
              HasSubstr("one of bidirectional and pincer"));
  EXPECT_THAT(refusal_of_spec("parameter-server:servers=5", 4), HasSubstr("from 1 to 4, not '5'"));
  EXPECT_THAT(refusal_of_spec("reduce-broadcast:root=4", 4), HasSubstr("from 0 to 3, not '4'"));
  EXPECT_THAT(refusal_of_spec("swing:streams=2", 4), HasSubstr("option streams needs dims"));
  EXPECT_THAT(refusal_of_spec("torus-2d:dims=2x2x2", 8), HasSubstr("needs two sizes"));
  EXPECT_THAT(refusal_of_spec("torus:dims=2x4:wrap=1", 8), HasSubstr("for each of 2 axes"));
  EXPECT_THAT(refusal_of_spec("hierarchical:dims=2x4:inner=tree", 8),
              HasSubstr("one of ring, bidirectional, pincer, circulant, direct, not 'tree'"));
}

TEST(Registry, OrdersOfRingsAreThoseOfAllRanks) {
  EXPECT_EQ(make_schedule("ring:orders=ranks", 4).chunks(), 4);
  EXPECT_EQ(make_schedule("ring:orders=0-1-2-3+3-1-0-2", 4).chunks(), 8);
  EXPECT_THAT(refusal_of_spec("ring:orders=0-1-2", 4),
              HasSubstr("'0-1-2' has 3 ranks, but must be all 4"));
  for (const char* wrong : {"0-1-2-2", "0-1-2-4", "0-1-2-3+", "a-b-c-d"}) {
    EXPECT_THAT(refusal_of_spec("ring:orders=" + std::string(wrong), 4),
                HasSubstr("every rank from 0 to 3 once"))
        << wrong;
  }
  EXPECT_THAT(refusal_of_spec("ring:orders=wires", 4), HasSubstr("name a machine"));
  EXPECT_THAT(refusal_of_spec("ring:orders=0-1-2-3:channels=2:node=2", 4),
              HasSubstr("one of orders and channels"));
}

TEST(Registry, RefusesValuesThatAreNotNumbers) {
  for (const char* value : {"0", "-1", "4x", "1e3", "99999999999", "4 ", "+4"}) {
    EXPECT_THAT(refusal_of_spec("ring:segments=" + std::string(value), 4),
                HasSubstr("whole number"))
        << value;
  }
  for (const char* value : {"x", "4x", "x4", "4xx2", "0x8", "-2x4", "1x1x1x1x1x1x1x1x8", "4*2"}) {
    EXPECT_THAT(refusal_of_spec("torus:dims=" + std::string(value), 8),
                HasSubstr("must look like 4x2"))
        << value;
  }
}

TEST(Registry, ReadsFlagsWithValues) {
  EXPECT_EQ(make_schedule("ring:pincer=0", 6).rounds(), 10);
  EXPECT_EQ(make_schedule("ring:pincer=1", 6).rounds(), 6);
  EXPECT_THAT(refusal_of_spec("ring:pincer=yes", 6), HasSubstr("is a flag"));
  EXPECT_FALSE(is_replica_consistent(parse_algorithm_spec("swing:latency")));
  EXPECT_TRUE(is_replica_consistent(parse_algorithm_spec("swing:latency=0")));
}

}  // namespace
}  // namespace collbench
