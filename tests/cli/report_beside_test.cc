// What `collbench report` puts beside each other, and what not.
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
  EXPECT_THAT(invoke(folder_, {"report", "real.json", "real.json"}).err, Not(HasSubstr("note")));
}

}  // namespace
}  // namespace collbench
