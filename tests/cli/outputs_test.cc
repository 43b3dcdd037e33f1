// Outputs of a command that would replace one another, what it reads, or what an earlier run left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

using Words = std::vector<std::string>;

class OutputsTest : public testing::Test {
 protected:
  OutputsTest() { folder_.write("net.txt", table_); }
  CommandOutcome run(Words words, const Words& more = {}) {
    words.insert(words.end(), more.begin(), more.end());
    return invoke(folder_, words);
  }
  void expect_refused(const Words& words, const std::string& message) {
    const CommandOutcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << words.front() << ": " << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr(message));
  }

  const Words simulate_ = {"simulate", "-t", "star:4,1Gbps,5us", "-A", "ring", "-b", "1K",
                           "-e",       "1K"};
  const std::string table_ =
      "library,algorithm,ranks,nodes,bytes,median_us\n"
      "nccl,auto,8,1,1048576,40\nnccl,auto,8,1,4194304,60\nnccl,auto,8,1,16777216,150\n";
  RunFolder folder_;
};

TEST_F(OutputsTest, StandardOutputHasRoomForOne) {
  const std::string full = ": standard output already carries --";
  Words both = simulate_;
  both.insert(both.end(), {"--json", "-", "--trace", "-"});
  expect_refused(both, "--trace" + full + "json");
  expect_refused({"diagnose", "net.txt", "--json", "--html", "-"}, "--output" + full + "html");
  expect_refused({"logs", "net.txt", "--json", "-o", "-"}, "--output" + full + "json");
  expect_refused({"logs", "net.txt", "--csv", "-", "--markdown", "-"}, "--markdown" + full + "csv");
  expect_refused({"synth", "-t", "star:3,1Gbps,1us", "--json", "--msccl", "-"},
                 "--msccl" + full + "json");
  expect_refused({"topo", "draw", "star:3,1Gbps,1us", "--svg", "-", "--dot", "-"},
                 "--dot" + full + "svg");
  // What goes to a file leaves room for another, and what is for people makes it.
  EXPECT_THAT(
      run({"diagnose", "net.txt", "-t", "dgx-h100", "--json", "-o", "d.json", "--html", "-"}).out,
      StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(run({"synth", "-t", "star:3,1Gbps,1us", "--msccl", "-"}).out, StartsWith("<algo"));
  const CommandOutcome explained = run(simulate_, {"--json", "-", "--explain"});
  EXPECT_EQ(parse_json<nlohmann::json>(explained.out)["records"].size(), 1U);
  EXPECT_THAT(explained.err, HasSubstr("#   ring in 6 rounds"));
}

TEST_F(OutputsTest, AFileOnStandardOutputIsAloneThere) {
  const CommandOutcome trace = run(simulate_, {"--trace", "-", "--explain"});
  EXPECT_FALSE(parse_json<nlohmann::json>(trace.out)["traceEvents"].empty());
  EXPECT_THAT(trace.err, AllOf(HasSubstr("simulated all-reduce"), HasSubstr("ring in 6 rounds")));
  EXPECT_THAT(run(simulate_, {"--links", "-"}).out, StartsWith("link,from,to,"));
  EXPECT_THAT(run(simulate_, {"--ranks", "-", "--csv", "rows"}).out, StartsWith("what,number,"));
  EXPECT_THAT(folder_.read("rows"), StartsWith("algorithm,"));
  EXPECT_THAT(
      run({"train", "-t", "star:2,1Gbps,5us", "--epochs", "1", "--steps", "1", "--curve", "-"}).out,
      StartsWith("time_s,"));
  expect_refused({"-W", "2", "-b", "1K", "-e", "1K", "--observe", "-"}, "--observe: name a file");
}

TEST_F(OutputsTest, APipeGetsOneDocument) {
  const CommandOutcome piped = run({"-A", "ring,direct", "-W", "2", "-b", "1K", "-e", "1K", "-n",
                                    "2", "-J", "/dev/stderr", "--progress", "off"});
  EXPECT_EQ(piped.code, 0);
  EXPECT_EQ(parse_json<nlohmann::json>(piped.err)["records"].size(), 2U) << piped.err;
}

TEST_F(OutputsTest, AFileIsWrittenByOneOfThem) {
  const auto refused = [&](Words words, const std::string& one, const std::string& other) {
    expect_refused(words, one + " and " + other + " name the same file");
  };
  Words csv = simulate_;
  csv.insert(csv.end(), {"--csv", "a", "--trace", "./a"});
  refused(csv, "--csv", "--trace");
  refused({"synth", "-t", "star:3,1Gbps,1us", "--msccl", "x", "--mscclpp", "x"}, "--msccl",
          "--mscclpp");
  refused({"report", "net.txt", "--plot", "x.svg", "--winners", "x.svg"}, "--plot", "--winners");
  refused({"logs", "net.txt", "--html", "x", "--markdown", "x"}, "--markdown", "--html");
  EXPECT_EQ(run(simulate_, {"--csv", "/dev/null", "--links", "/dev/null"}).code, 0);
}

TEST_F(OutputsTest, WhatIsReadIsNotReplaced) {
  for (const Words& words :
       {Words{"diagnose", "net.txt", "-o", "./net.txt"},
        Words{"calibrate", "net.txt", "-o", "net.txt"},
        Words{"report", "net.txt,system=mine", "--html", "net.txt"},
        Words{"compare", "other.txt", "net.txt", "--json", "net.txt"},
        Words{"diagnose", "other.txt", "--healthy", "net.txt", "--html", "net.txt"},
        Words{"select", "--measured", "other.txt,net.txt", "--export", "json", "-o", "net.txt"}}) {
    expect_refused(words, "net.txt' is also what is read; name another file");
    EXPECT_EQ(folder_.read("net.txt"), table_);
  }
  folder_.write("logs/rank0.log", "");
  expect_refused({"logs", "logs", "--inspector", "logs/"},
                 "--inspector: 'logs/' holds what is read; name another folder");
  expect_refused({"logs", "logs/rank0.log", "--flight-recorder", "logs"},
                 "'logs' holds what is read; name another folder");
  // Records may be added to a file of them.
  ASSERT_EQ(run(simulate_, {"--json", "all.json"}).code, 0);
  EXPECT_EQ(run({"merge", "all.json", "-o", "all.json"}).code, 0);
}

TEST_F(OutputsTest, AnEarlierRunIsKeptWhereThisOneCannotBe) {
  ASSERT_EQ(run(simulate_, {"-J", "kept.json", "--csv", "kept.csv"}).code, 0);
  const std::string records = folder_.read("kept.json");
  const std::string rows = folder_.read("kept.csv");
  for (const Words& wrong :
       {Words{"--stragglers", "junk"}, Words{"--stragglers", "9:1us"},
        Words{"--slow-hosts", "9:0.5"}, Words{"--protocol", "NOSUCH"},
        Words{"--mapping", "9,8,7,6"}, Words{"-t", "dgx-h100", "-A", "nccl", "--jitter", "1us"},
        Words{"-t", "dgx-h100", "-A", "nccl", "--protocol", "NOSUCH"},
        Words{"-t", "dgx-h100", "-A", "nccl", "--collective", "all-gather"}}) {
    Words words = wrong;
    words.insert(words.end(), {"-J", "kept.json", "--csv", "kept.csv"});
    EXPECT_EQ(run(simulate_, words).code, 2) << wrong[0] << wrong[1];
    EXPECT_EQ(folder_.read("kept.json"), records) << wrong[0] << wrong[1];
    EXPECT_EQ(folder_.read("kept.csv"), rows);
  }
  const Words observed = {"-A", "ring", "-b", "1K",        "-e",        "1K",
                          "-d", "f16",  "-J", "kept.json", "--observe", "sums"};
  EXPECT_EQ(run(observed).code, 2);
  EXPECT_EQ(folder_.read("kept.json"), records);
}

}  // namespace
}  // namespace collbench
