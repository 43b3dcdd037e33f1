// Orders of additions told apart by the sums that they give.
#include "bench/measure/observation.h"

#include <cstring>
#include <ctime>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/flipped_bits.h"

#include "algorithms/registry.h"
#include "algorithms/verify.h"
#include "bench/measure/library_orders.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::Contains;
using testing::Not;

std::string order_text(const char* spec, int ranks, int chunk, const Collective& collective = {}) {
  const Schedule schedule =
      make_schedule(parse_algorithm_spec(spec), ranks, Bytes{1 << 20}, collective);
  return to_string(addition_orders(schedule, collective)[static_cast<std::size_t>(chunk)]);
}

TEST(AdditionOrders, AreWrittenAsTheyAreTaken) {
  EXPECT_EQ(order_text("ring", 4, 0), "((1+2)+3)+0");
  EXPECT_EQ(order_text("ring", 4, 3), "((0+1)+2)+3");
  EXPECT_EQ(order_text("direct", 4, 2), "[0+1+2+3]");
  EXPECT_EQ(order_text("recursive-doubling", 4, 0), "(0+1)+(2+3)");
  EXPECT_EQ(order_text("ring", 4, 2, {CollectiveKind::reduce_scatter}), "((0+3)+1)+2");
  EXPECT_EQ(order_text("binomial", 4, 0, {CollectiveKind::reduce}), "(0+2)+(1+3)");
}

TEST(AdditionOrders, OfACollectiveThatAddsNothingAreRefused) {
  const Schedule schedule = make_schedule("ring", 4);
  EXPECT_THROW(addition_orders(schedule, {CollectiveKind::all_gather}), InvalidArgument);
}

// One order for each chunk and not one for each chunk of each rank, which takes minutes.
TEST(AdditionOrders, OfManyRanksTakeNoLongerThanTheirProof) {
  const Schedule schedule = make_schedule("ring", 512);
  const std::clock_t begin = std::clock();
  verify_allreduce(schedule);
  const std::clock_t proved = std::clock();
  EXPECT_EQ(addition_orders(schedule, {}).size(), 512U);
  EXPECT_LT(std::clock() - proved, 3 * (proved - begin));
}

// What an algorithm would give, as a file of it would say.
Observation played(const char* spec, int ranks, std::int64_t count, DataType type) {
  Observation observed{ranks, type, 7, std::vector<double>(static_cast<std::size_t>(count))};
  const Bytes bytes{count * size_of(type)};
  const Schedule schedule = make_schedule(spec, ranks, bytes);
  const std::vector<AdditionOrder> orders = addition_orders(schedule, {});
  for (int c = 0; c < schedule.chunks(); ++c) {
    const std::int64_t end = schedule.partition()(c + 1, count, size_of(type));
    for (std::int64_t i = schedule.partition()(c, count, size_of(type)); i < end; ++i) {
      observed.values[static_cast<std::size_t>(i)] =
          sum_in_order(orders[static_cast<std::size_t>(c)], observed, i);
    }
  }
  return observed;
}

std::vector<std::string> agreeing(const Observation& observed) {
  std::vector<std::string> names;
  for (const Agreement& each : judge_orders(observed)) {
    if (each.agreeing == std::ssize(observed.values)) names.push_back(each.algorithm);
  }
  return names;
}

std::vector<OrderRun> explained(const Observation& observed) {
  std::set<AdditionOrder> orders;
  judge_orders(observed, &orders);
  return explain_by_element(observed, std::move(orders));
}

TEST(JudgeOrders, TellsOurAlgorithmsApart) {
  for (const DataType type : {DataType::f32, DataType::f64}) {
    const auto names = [&](const char* spec) { return agreeing(played(spec, 8, 200, type)); };
    EXPECT_THAT(names("ring"), testing::ElementsAre("ring", "ring:segments=4"));
    EXPECT_THAT(names("halving-doubling"), Contains("halving-doubling"));
    EXPECT_THAT(names("halving-doubling"), Not(Contains("circulant")));
    EXPECT_THAT(names("circulant"), Contains("circulant"));
    EXPECT_THAT(names("circulant"), Not(Contains("ring")));
    EXPECT_THAT(names("tree"), testing::ElementsAre("tree"));
    EXPECT_THAT(names("binomial"), Contains("binomial"));
    EXPECT_THAT(names("one-shot"), Contains("direct")) << "both add in rank order";
    EXPECT_THAT(names("one-shot"), Not(Contains("ring")));
  }
}

// What Open MPI 4.1.4 gave for the first 12 of 100 elements of 5 and 6 workers, seed 1.
struct OfALibrary {
  int ranks;
  const char* name;
  std::vector<double> values;
};

TEST(JudgeOrders, KnowsOpenMpisSums) {
  const OfALibrary samples[] = {
      {5,
       "mpi:nonoverlapping of short vectors",
       {1.8447782F, -0.6329919F, -0.29184198F, -0.33646813F, -1.1572757F, 2.0361986F, -0.203206F,
        0.25933522F, -0.6501585F, -0.90452975F, -0.7121881F, 0.44067937F}},
      {5,
       "mpi:recursive-doubling, mpi:rabenseifner",
       {1.8447783F, -0.6329919F, -0.29184195F, -0.33646813F, -1.1572757F, 2.0361986F, -0.203206F,
        0.2593352F, -0.6501586F, -0.9045297F, -0.71218807F, 0.44067943F}},
      {6,
       "mpi:nonoverlapping of short vectors",
       {0.9629694F, -1.5722176F, -0.862725F, -1.2359982F, -2.062784F, 2.0442204F, -0.9941178F,
        -0.2008439F, -1.615257F, -0.18188578F, -0.5191827F, -0.09741503F}},
      {6,
       "mpi:recursive-doubling, mpi:rabenseifner",
       {0.9629693F, -1.5722177F, -0.862725F, -1.2359982F, -2.062784F, 2.0442204F, -0.99411774F,
        -0.20084381F, -1.615257F, -0.18188578F, -0.5191827F, -0.09741503F}},
  };
  for (const OfALibrary& sample : samples) {
    EXPECT_THAT(agreeing({sample.ranks, DataType::f32, 1, sample.values}), Contains(sample.name));
  }
}

// What Gloo (Debian's of 2022) gave for 20 elements, seed 1.
TEST(JudgeOrders, TellsGloosAlgorithmsApart) {
  const OfALibrary samples[] = {
      {5, "gloo:ring", {1.8447782F,  -0.63299185F, -0.29184195F,  -0.33646816F, -1.1572756F,
                        2.0361986F,  -0.20320605F, 0.2593352F,    -0.65015846F, -0.90452975F,
                        -0.7121882F, 0.44067946F,  -0.028115988F, -0.22792234F, 0.62943965F,
                        2.1088927F,  0.7773585F,   1.1589484F,    -0.70193243F, 0.3545515F}},
      {5, "gloo:bcube", {1.8447782F,  -0.6329919F,  -0.29184192F,  -0.33646813F, -1.1572756F,
                         2.0361986F,  -0.20320602F, 0.25933522F,   -0.6501585F,  -0.90452975F,
                         -0.7121882F, 0.44067943F,  -0.028116047F, -0.22792232F, 0.62943965F,
                         2.1088932F,  0.7773585F,   1.1589485F,    -0.70193243F, 0.3545515F}},
      {6, "gloo:bcube", {0.9629693F,  -1.5722177F,  -0.862725F,   -1.2359982F, -2.062784F,
                         2.0442204F,  -0.99411774F, -0.20084381F, -1.615257F,  -0.18188578F,
                         -0.5191827F, -0.09741503F, 0.39932597F,  -0.6626855F, 0.053569138F,
                         1.4077408F,  1.6971245F,   1.2392693F,   -1.5945683F, 0.17129934F}},
      {7, "gloo:halving-doubling", {0.678069F,   -1.9448118F, -1.1939795F,  -1.152247F,
                                    -2.840343F,  2.0782917F,  -0.75698006F, -0.97913635F,
                                    -1.0062664F, 0.5804138F,  0.45743257F,  -0.24178737F,
                                    -0.4192025F, -0.5164804F, -0.19200289F, 2.2635643F,
                                    2.65736F,    1.4638404F,  -1.9484909F,  -0.43422508F}},
  };
  for (const OfALibrary& sample : samples) {
    const std::vector<std::string> names =
        agreeing({sample.ranks, DataType::f32, 1, sample.values});
    EXPECT_THAT(names, Contains(sample.name));
    for (const char* other : {"gloo:ring", "gloo:bcube", "gloo:halving-doubling"}) {
      if (std::string(other) != sample.name) {
        EXPECT_THAT(names, Not(Contains(other)));
      }
    }
  }
}

// Two segments for each rank, or as many of 1 MiB as it takes.
TEST(LibraryOrders, OfGloosRingBeginWithTheRankBefore) {
  const auto rules = library_orders();
  const auto ring = std::ranges::find(rules, std::string_view("gloo:ring"), &LibraryOrder::name);
  ASSERT_NE(ring, rules.end());
  const OrdersByElement orders = ring->orders(4, 100, 4);
  ASSERT_EQ(orders.size(), 4U);
  EXPECT_EQ(orders[0].first, 26) << "two segments of 13 elements";
  EXPECT_EQ(to_string(orders[1].second), "((0+3)+2)+1");
  EXPECT_EQ(orders[3].first, 100);
  EXPECT_EQ(ring->orders(2, 3 << 20, 4)[0].first, 3 << 19) << "6 segments of each of 2 ranks";
  const auto chunked =
      std::ranges::find(rules, std::string_view("gloo:ring-chunked"), &LibraryOrder::name);
  EXPECT_EQ(chunked->orders(3, 1000, 4)[0].first, 512) << "pieces of at least 256 elements";
}

TEST(ExplainByElement, FindsWhereTheOrderChanges) {
  Observation observed = played("ring", 4, 64, DataType::f32);
  // As a ring with other shares: the last 8 elements from rank 2 upwards.
  const AdditionOrder other = left_fold(4, 2, 1);
  for (std::size_t i = 56; i < 64; ++i) {
    observed.values[i] = sum_in_order(other, observed, static_cast<std::int64_t>(i));
  }
  EXPECT_THAT(agreeing(observed), testing::IsEmpty());
  const std::vector<OrderRun> runs = explained(observed);
  ASSERT_GE(runs.size(), 5U);
  std::vector<std::string> last;
  for (const AdditionOrder& order : runs.back().orders) last.push_back(to_string(order));
  EXPECT_THAT(last, Contains("(0+(2+3))+1"));
  EXPECT_NEAR(static_cast<double>(runs.back().first), 56, 3);
}

TEST(ExplainByElement, SaysWhereNoKnownOrderFits) {
  Observation observed = played("ring", 4, 16, DataType::f64);
  for (std::size_t i = 4; i < 8; ++i) observed.values[i] += 1;
  const std::vector<OrderRun> runs = explained(observed);
  const auto unknown =
      std::ranges::find_if(runs, [](const OrderRun& run) { return run.orders.empty(); });
  ASSERT_NE(unknown, runs.end());
  EXPECT_EQ(unknown->first, 4);
  EXPECT_EQ(unknown->count, 4);
}

// Beyond six ranks not every order is tried, but those of known algorithms and chains from any
// rank.
TEST(ExplainByElement, TriesTheOrdersThatWereJudged) {
  Observation observed = played("halving-doubling", 8, 64, DataType::f64);
  observed.values.back() += 1;
  const auto known = [](const OrderRun& run) { return run.count > 50 && !run.orders.empty(); };
  EXPECT_TRUE(std::ranges::any_of(explained(observed), known));
  EXPECT_FALSE(std::ranges::any_of(explain_by_element(observed, {}), known));
}

TEST(ExplainByElement, KnowsChainsOfManyRanks) {
  constexpr int ranks = 9;
  Observation observed = played("ring", ranks, 90, DataType::f64);
  const AdditionOrder chain = left_fold(ranks, 4, -1);
  for (std::int64_t i = 30; i < 60; ++i) {
    observed.values[static_cast<std::size_t>(i)] = sum_in_order(chain, observed, i);
  }
  const std::vector<OrderRun> runs = explained(observed);
  const auto middle = std::ranges::find_if(
      runs, [](const OrderRun& run) { return run.first <= 40 && run.first + run.count > 50; });
  ASSERT_NE(middle, runs.end());
  EXPECT_THAT(middle->orders, Contains(chain));
}

TEST(ReadObservation, ReadsWhatIsWritten) {
  std::vector<float> values{1.5F, -0.1F, 3e-9F};
  const Region region{reinterpret_cast<std::byte*>(values.data()), 3, DataType::f32};
  std::ostringstream text;
  write_observation(text, region, 8, 3);
  const Observation read = read_observation("# a remark\n" + text.str());
  EXPECT_EQ(read.ranks, 8);
  EXPECT_EQ(read.seed, 3U);
  EXPECT_THAT(read.values, testing::ElementsAre(1.5, double{-0.1F}, double{3e-9F}));
  EXPECT_THAT(read_observation("ranks 2\ntype f64\nvalues\n0x1.8p+1\n").values,
              testing::ElementsAre(3.0));
  EXPECT_EQ(read_observation("\xEF\xBB\xBF" + text.str()).ranks, 8) << "with a byte order mark";
}

TEST(ReadObservation, RefusesADamagedFile) {
  std::vector<float> values{1.5F, -0.1F, 3e-9F};
  std::ostringstream out;
  write_observation(out, {reinterpret_cast<std::byte*>(values.data()), 3, DataType::f32}, 8, 3);
  const std::string text = out.str();
  for_each_flipped_bit(text, text.find('\n') + 1, 1,
                       [](const std::string& damaged, std::size_t at) {
                         EXPECT_THROW(read_observation(damaged), InvalidArgument) << "byte " << at;
                       });
}

TEST(ReadObservation, RefusesWithTheLine) {
  const auto refusal = [](const char* text) {
    try {
      read_observation(text);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal("ranks 8\nvalues\n1.5\nx\n"),
              testing::HasSubstr("line 4: 'x' is not a number"));
  EXPECT_THAT(refusal("ranks 8\nvalues\nnan\n"), testing::HasSubstr("line 3"));
  EXPECT_THAT(refusal("ranks 1\nvalues\n1\n"), testing::HasSubstr("line 1: ranks"));
  EXPECT_THAT(refusal("type i32\n"), testing::HasSubstr("do not tell orders apart"));
  EXPECT_THAT(refusal("rank 8\n"), testing::HasSubstr("none of ranks, type, seed and values"));
  EXPECT_THAT(refusal("values\n1\n"), testing::HasSubstr("how many ranks"));
  std::string many = "ranks 1024\nvalues\n";
  for (int i = 0; i <= 1 << 17; ++i) many += "1\n";
  EXPECT_THAT(refusal(many.c_str()), testing::HasSubstr("more than 131072 values of 1024 ranks"));
  EXPECT_THAT(refusal("ranks 8\nvalues\n"), testing::HasSubstr("no value follows"));
}

}  // namespace
}  // namespace collbench
