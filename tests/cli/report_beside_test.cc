// What `collbench report` puts beside each other, and what not.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Records of a real run and of the same cases simulated.
class ReportBesideTest : public testing::Test {
 protected:
  ReportBesideTest() {
    const CommandOutcome real = invoke(folder_, {"-A", "ring,direct", "-W", "4", "-b", "1K", "-e",
                                                 "1K", "-n", "20", "--json", "real.json", "-q"});
    EXPECT_EQ(real.code, 0) << real.err;
    const CommandOutcome simulated =
        invoke(folder_, {"simulate", "--topo", "star:4,10GBps,5us", "-A", "ring", "-b", "1K", "-e",
                         "1K", "--json", "sim.json", "-q"});
    EXPECT_EQ(simulated.code, 0) << simulated.err;
  }
  /// real.json after statements of Python on `file`, as another file.
  void write_changed(const std::string& name, const std::string& statements) {
    const CommandOutcome written =
        invoke_program(folder_, "python3",
                       {"-c",
                        "import json\nfile = json.load(open('real.json'))\n"
                        "file.pop('crc32c', None)\n"
                        "for record in file['records']: record.pop('crc32c', None)\n" +
                            statements + "\njson.dump(file, open('" + name + "', 'w'))\n"});
    EXPECT_EQ(written.code, 0) << written.err;
  }
  RunFolder folder_;
};

TEST_F(ReportBesideTest, SimulatedAndRealCasesOfOtherCollectivesAreNoPairs) {
  if (is_missing("node")) GTEST_SKIP() << "node is not installed (nodejs)";
  write_changed("scattered.json",
                "for r in file['records']: r['case']['collective'] = 'reduce-scatter'");
  const auto shown = [&](const char* real) {
    const CommandOutcome made = invoke(folder_, {"report", real, "sim.json", "--topo",
                                                 "star:4,10GBps,5us", "--html", "page.html"});
    EXPECT_EQ(made.code, 0) << made.err;
    return invoke_program(folder_, "node",
                          {COLLBENCH_SOURCE_DIR "/tests/cli/read_charts.js", "page.html",
                           COLLBENCH_SOURCE_DIR "/bench/reports/html"})
        .out;
  };
  EXPECT_THAT(shown("real.json"), HasSubstr("pair ring 4 1024\n"));
  EXPECT_THAT(shown("scattered.json"), AllOf(HasSubstr("winner"), Not(HasSubstr("pair"))));
}

TEST_F(ReportBesideTest, NoneIsCalledTheFastestOfDifferentMachines) {
  write_changed("elsewhere.json", "file['environment']['host'] = 'elsewhere'");
  const CommandOutcome both = invoke(folder_, {"report", "real.json", "elsewhere.json"});
  EXPECT_THAT(both.out, AllOf(HasSubstr("# of different machines, so none is called the fastest: "
                                        "host: '"),
                              Not(HasSubstr("times faster"))));
  EXPECT_THAT(both.err, HasSubstr("note: records of different machines: host: '"));
  ASSERT_EQ(invoke(folder_, {"report", "real.json", "elsewhere.json", "--winners", "map.gp"}).code,
            0);
  EXPECT_THAT(invoke_program(folder_, "cat", {"map.gp"}).out, HasSubstr("'not comparable'"));
  EXPECT_THAT(invoke(folder_, {"report", "real.json", "real.json"}).err, Not(HasSubstr("note")));
}

TEST_F(ReportBesideTest, ThePageCrownsNothingWrongAndNothingThatIsNotToldApart) {
  if (is_missing("node")) GTEST_SKIP() << "node is not installed (nodejs)";
  // The tree is the fastest, but wrong at 1 KiB and of few iterations at 8 KiB.
  const std::string records =
      "made = []\n"
      "for size in 1024, 8192, 65536:\n"
      "    for name, ns in ('ring', 2000), ('direct', 3000), ('tree', 1000):\n"
      "        r = json.loads(json.dumps(file['records'][0]))\n"
      "        r['case'].update(algorithm=name, size_bytes=size)\n"
      "        r['latency_ns'] = [ns] * (5 if name == 'tree' and size == 8192 else 20)\n"
      "        r['skew_ns'] = [0] * len(r['latency_ns'])\n"
      "        if name == 'tree' and size == 1024: r['wrong_elements'] = 7\n"
      "        made.append(r)\n"
      "file['records'] = made\n";
  write_changed("told.json", records);
  write_changed("merged.json", records + "file['environment']['host'] = 'A; B'");
  const auto winners = [&](const std::string& file) {
    EXPECT_EQ(invoke(folder_, {"report", file, "--html", "page.html"}).code, 3);  // one is wrong
    const std::string out =
        invoke_program(folder_, "node",
                       {COLLBENCH_SOURCE_DIR "/tests/cli/read_charts.js", "page.html",
                        COLLBENCH_SOURCE_DIR "/bench/reports/html"})
            .out;
    return out.substr(std::min(out.find("winner"), out.size()));
  };
  EXPECT_EQ(winners("told.json"),
            "winner 1024 ring\n"
            "winner 8192 tree, a tie: fewer than 6 iterations do not tell the first two apart\n"
            "winner 65536 tree\n");
  EXPECT_THAT(winners("merged.json"),
              HasSubstr("winner 65536 tree, of different machines: host: 'A; B'"));
}

TEST_F(ReportBesideTest, AComparisonMayHaveACaseCalledRecordsAndAWrongOneIsExitCode3) {
  ASSERT_EQ(invoke(folder_, {"compare", "sim.json", "sim.json", "--json", "same.json"}).code, 0);
  const CommandOutcome renamed = invoke_program(folder_, "python3",
                                                {"-c",
                                                 "import json\n"
                                                 "file = json.load(open('same.json'))\n"
                                                 "file.pop('crc32c', None)\n"
                                                 "file['verdicts'][0].pop('crc32c', None)\n"
                                                 "file['verdicts'][0]['name'] = 'records'\n"
                                                 "json.dump(file, open('named.json', 'w'))\n"
                                                 "file['verdicts'][0]['outcome'] = 'wrong'\n"
                                                 "json.dump(file, open('judged.json', 'w'))\n"});
  ASSERT_EQ(renamed.code, 0) << renamed.err;
  const CommandOutcome named = invoke(folder_, {"report", "named.json"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("records"));
  const CommandOutcome judged = invoke(folder_, {"report", "judged.json"});
  EXPECT_EQ(judged.code, 3);
  EXPECT_THAT(judged.err, HasSubstr("1 of 1 cases of the comparison gave a wrong result"));
}

}  // namespace
}  // namespace collbench
