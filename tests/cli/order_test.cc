// `collbench algos order`: in which order an algorithm adds, and which orders a result has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class OrderTest : public testing::Test {
 protected:
  CommandOutcome order(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"algos", "order"});
    return invoke(folder_, arguments);
  }

  /// The sums of a real run, as `--observe` writes them.
  std::string observe(const std::string& algorithm, const std::string& workers,
                      const std::string& type = "f32") {
    const CommandOutcome ran =
        invoke(folder_, {"run", "--algo", algorithm, "-W", workers, "-d", type, "-b", "4000", "-e",
                         "4000", "-n", "1", "--observe", "sums.txt"});
    EXPECT_EQ(ran.code, 0) << ran.err;
    return folder_.read("sums.txt");
  }

  RunFolder folder_;
};

TEST_F(OrderTest, IsThatOfEachShare) {
  const std::string ring = order({"ring", "-W", "3", "--count", "96"}).out;
  EXPECT_THAT(ring, StartsWith("ring: 3 workers, 96 f32"));
  EXPECT_THAT(ring, HasSubstr("elements       0 to 31       (1+2)+0\n"));
  EXPECT_THAT(ring, HasSubstr("elements      64 to 95       (0+1)+2\n"));
  // Shares of elements that have one order are one line.
  const std::string direct = order({"direct", "-W", "3", "--count", "96"}).out;
  EXPECT_THAT(direct, HasSubstr("elements       0 to 95       [0+1+2]\n"));
  const std::string channels = order({"ring", "-W", "4", "--channels", "2"}).out;
  EXPECT_EQ(std::count(channels.begin(), channels.end(), '\n'), 1 + 8);
  EXPECT_THAT(order({"tree", "-W", "4", "--collective", "reduce", "--root", "2"}).out,
              HasSubstr("elements       0 to 999 "));
}

TEST_F(OrderTest, OfRanksThatDifferItIsRankZeros) {
  const char* const remark = "; rank 0's order, others may differ\n";
  EXPECT_THAT(order({"swing:latency", "-W", "8"}).out, HasSubstr(remark));
  EXPECT_THAT(order({"swing", "-W", "8"}).out, Not(HasSubstr(remark)));
  EXPECT_THAT(order({"ring", "-W", "4", "--collective", "reduce-scatter"}).out,
              Not(HasSubstr(remark)));
}

TEST_F(OrderTest, NamesTheAlgorithmsThatAddAsAResultDoes) {
  observe("ring", "5");
  const std::string ring = order({"--observed", "sums.txt"}).out;
  EXPECT_THAT(ring, AllOf(StartsWith("1000 f32 of 5 workers"), HasSubstr("everywhere: ring\n"),
                          Not(HasSubstr("everywhere: direct\n")),
                          HasSubstr("those that leave an element in the same share")));
  observe("one-shot", "5", "f64");
  const std::string one_shot = order({"--observed", "sums.txt"}).out;
  EXPECT_THAT(one_shot,
              AllOf(StartsWith("500 f64 of 5 workers"), HasSubstr("everywhere: one-shot\n"),
                    HasSubstr("everywhere: direct\n"), Not(HasSubstr("everywhere: ring\n")),
                    HasSubstr("other buckets: all do")));
}

TEST_F(OrderTest, AResultOfNoAlgorithmIsExplainedElementByElement) {
  std::string sums = observe("ring", "4");
  const std::size_t values = sums.find("values\n") + 7;
  // Without its checksum, and with the first sum changed.
  sums = sums.substr(sums.find('\n') + 1, values - sums.find('\n') - 1) + "17.25\n" +
         sums.substr(sums.find('\n', values) + 1);
  folder_.write("changed.txt", sums);
  const CommandOutcome judged = order({"--observed", "changed.txt"});
  EXPECT_EQ(judged.code, 0) << judged.err;
  EXPECT_THAT(judged.out, AllOf(HasSubstr("no known algorithm agrees everywhere"),
                                HasSubstr("ring                     999 of 1000 elements"),
                                HasSubstr("elements       0 to 0        no known order")));
}

TEST_F(OrderTest, DamagedAndForeignFilesAreRefused) {
  std::string sums = observe("ring", "3");
  sums[sums.size() - 3] = sums[sums.size() - 3] == '1' ? '2' : '1';
  folder_.write("damaged.txt", sums);
  folder_.write("foreign.txt", "seed\n");
  EXPECT_THAT(order({"--observed", "damaged.txt"}).err, HasSubstr("do not fit their checksum"));
  EXPECT_THAT(order({"--observed", "foreign.txt"}).err, HasSubstr("'foreign.txt': line 1"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--observed", "damaged.txt"},
        {"--observed", "foreign.txt"},
        {"ring", "--observed", "sums.txt"},
        {}}) {
    EXPECT_EQ(order(arguments).code, 2) << testing::PrintToString(arguments);
  }
}

TEST_F(OrderTest, OnlySumsOfOneAllReduceAreObserved) {
  for (const std::vector<std::string>& others : {std::vector<std::string>{"--op", "max"},
                                                 {"--op", "avg"},
                                                 {"--collective", "reduce-scatter"},
                                                 {"--collective", "broadcast", "-A", "tree"},
                                                 {"--groups", "2x2"},
                                                 {"-e", "64000"},
                                                 {"-d", "i32"}}) {
    std::vector<std::string> arguments{"run", "-A",   "ring", "-W", "4",         "-b",      "4000",
                                       "-e",  "4000", "-n",   "1",  "--observe", "sums.txt"};
    arguments.insert(arguments.end(), others.begin(), others.end());
    const CommandOutcome ran = invoke(folder_, arguments);
    EXPECT_EQ(ran.code, 2) << testing::PrintToString(others);
    EXPECT_THAT(ran.err, StartsWith("collbench: error: --observe ")) << "and for no other reason";
    EXPECT_EQ(invoke_program(folder_, "ls", {"sums.txt"}).out, "") << ran.err;
  }
}

}  // namespace
}  // namespace collbench
