// `collbench report`: every format read back by a program that is not ours.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string scripts = COLLBENCH_SOURCE_DIR "/tests/cli/";

/// Records of a small simulated sweep and of a real run, and a comparison, made once.
class ReportTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new RunFolder;
    ASSERT_EQ(invoke(*folder_, {"simulate", "--topo", "star:4,10GBps,5us", "-A", "ring,tree,auto",
                                "-b", "1K", "-e", "1M", "-f", "32", "--json", "sim.json", "-q"})
                  .code,
              0);
    // Another version, whose tree is 20 % slower.
    const CommandOutcome slowed =
        program("python3", {"-c",
                            "import json\n"
                            "file = json.load(open('sim.json'))\n"
                            "for record in file['records']:\n"
                            "    if record['case']['algorithm'] != 'tree': continue\n"
                            "    del record['crc32c']\n"
                            "    record['exact']['time_s'] *= 1.2\n"
                            "    record['latency_ns'] = [round(record['exact']['time_s'] * 1e9)]\n"
                            "json.dump(file, open('head.json', 'w'))\n"});
    ASSERT_EQ(slowed.code, 0) << slowed.err;
    ASSERT_EQ(invoke(*folder_, {"-A", "ring,direct,tree", "-W", "2,4", "-b", "1K", "-e", "64K",
                                "-f", "8", "-n", "20", "--json", "real.json", "-q"})
                  .code,
              0);
    const CommandOutcome compared =
        invoke(*folder_, {"compare", "sim.json", "head.json", "--json", "comparison.json", "-q"});
    ASSERT_EQ(compared.code, 1) << compared.err;
  }
  static void TearDownTestSuite() { delete folder_; }

  static CommandOutcome report(std::vector<std::string> arguments,
                               const std::map<std::string, std::string>& environment = {}) {
    arguments.insert(arguments.begin(), "report");
    return invoke(*folder_, arguments, environment);
  }
  static CommandOutcome program(const std::string& name,
                                const std::vector<std::string>& arguments) {
    return invoke_program(*folder_, name, arguments);
  }
  static RunFolder* folder_;
};
RunFolder* ReportTest::folder_ = nullptr;

TEST_F(ReportTest, JsonIsReadByPythonWithoutConstantsThatAreNotJson) {
  for (const char* input : {"real.json", "comparison.json"}) {
    ASSERT_EQ(report({input, "--json", "out.json"}).code, 0);
    const CommandOutcome read =
        program("python3", {"-c",
                            "import json, sys\n"
                            "def refuse(name): raise ValueError(name)\n"
                            "text = open('out.json').read()\n"
                            "print(json.loads(text, parse_constant=refuse)['schema_version'])\n"});
    EXPECT_EQ(read.out, "1\n") << input << read.err;
  }
}

TEST_F(ReportTest, APipeShowsWhatItsFileShows) {
  const std::string command = COLLBENCH_BINARY " report <(cat real.json)";
  const CommandOutcome piped = program("bash", {"-c", command});
  EXPECT_EQ(piped.code, 0) << piped.err;
  EXPECT_EQ(piped.out, report({"real.json"}).out);
}

TEST_F(ReportTest, AWrongResultInARecordIsExitCode3AfterAllIsWritten) {
  const CommandOutcome damaged =
      program("python3", {"-c",
                          "import json\n"
                          "file = json.load(open('real.json'))\n"
                          "del file['records'][0]['crc32c']\n"
                          "file['records'][0]['wrong_elements'] = 7\n"
                          "json.dump(file, open('wrong.json', 'w'))\n"
                          "file['records'][1]['latency_ns'][0] ^= 1\n"
                          "json.dump(file, open('flipped.json', 'w'))\n"});
  ASSERT_EQ(damaged.code, 0) << damaged.err;
  const CommandOutcome shown = report({"wrong.json"});
  EXPECT_EQ(shown.code, 3);
  EXPECT_THAT(shown.out, HasSubstr("1 WRONG"));
  EXPECT_THAT(shown.err, HasSubstr("1 of 18 cases gave a wrong result"));
  const CommandOutcome flipped = report({"flipped.json"});
  EXPECT_EQ(flipped.code, 2);
  EXPECT_THAT(flipped.err, HasSubstr("it does not fit its checksum"));
}

TEST_F(ReportTest, ARecordFileComesBackAsItWas) {
  ASSERT_EQ(report({"real.json", "--json", "again.json"}).code, 0);
  auto before = parse_json<nlohmann::json>(folder_->read("real.json"));
  auto after = parse_json<nlohmann::json>(folder_->read("again.json"));
  ASSERT_EQ(before["records"].size(), after["records"].size());
  for (std::size_t i = 0; i < before["records"].size(); ++i) {
    auto& mine = before["records"][i]["bound"];
    auto& again = after["records"][i]["bound"];
    if (mine.is_null()) continue;
    // Seconds within, nanoseconds in the file: the last digit may differ.
    EXPECT_DOUBLE_EQ(again["time_ns"].get<double>(), mine["time_ns"].get<double>());
    again["time_ns"] = mine["time_ns"];
    after["records"][i]["crc32c"] = before["records"][i]["crc32c"];
  }
  EXPECT_EQ(after, before);
}

TEST_F(ReportTest, RecordsOfTwoMachinesKeepBothEnvironments) {
  const CommandOutcome moved = program("python3", {"-c",
                                                   "import json\n"
                                                   "file = json.load(open('real.json'))\n"
                                                   "del file['crc32c']\n"
                                                   "file['environment']['host'] = 'other'\n"
                                                   "json.dump(file, open('other.json', 'w'))\n"});
  ASSERT_EQ(moved.code, 0) << moved.err;
  const CommandOutcome both = report({"real.json", "other.json", "--json", "both.json"});
  ASSERT_EQ(both.code, 0) << both.err;
  const auto file = parse_json<nlohmann::json>(folder_->read("both.json"));
  EXPECT_THAT(file["environment"]["host"].get<std::string>(), HasSubstr("; other"));
  EXPECT_THAT(report({"real.json", "other.json"}).out, HasSubstr("; other: "));
}

TEST_F(ReportTest, WhatIsLeftOutOfATableIsSaid) {
  folder_->write("two.txt",
                 "# OSU MPI Allreduce Latency Test v7.4\n# Size       Avg Latency(us)\n4   1.50\n"
                 "# OSU MPI Broadcast Latency Test v7.4\n# Size       Avg Latency(us)\n4   0.75\n");
  const CommandOutcome shown = report({"two.txt,ranks=4"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.err,
              HasSubstr("note: two.txt: left out: 1 times of 'OSU MPI Broadcast Latency Test'"));
  EXPECT_EQ(report({"two.txt,ranks=4", "--quiet"}).err, "");
}

TEST_F(ReportTest, CsvIsReadByPython) {
  ASSERT_EQ(report({"real.json", "--csv", "out.csv"}).code, 0);
  const CommandOutcome read =
      program("python3", {"-c",
                          "import csv\n"
                          "rows = list(csv.DictReader(open('out.csv')))\n"
                          "assert all(None not in row for row in rows)\n"
                          "print(len(rows), min(float(r['median_us']) > 0 for r "
                          "in rows))\n"});
  EXPECT_EQ(read.out, "18 True\n") << read.err;
}

TEST_F(ReportTest, JunitIsReadByXmllint) {
  if (is_missing("xmllint")) GTEST_SKIP() << "xmllint is not installed (libxml2-utils)";
  for (const char* input : {"real.json", "comparison.json"}) {
    ASSERT_EQ(report({input, "--junit", "out.xml"}).code, 0);
    const CommandOutcome read = program(
        "xmllint", {"--xpath", "concat(count(//testcase), ' ', /testsuites/@tests)", "out.xml"});
    EXPECT_EQ(read.code, 0) << read.err;
    EXPECT_THAT(read.out, StartsWith(std::string(input) == "real.json" ? "18 18" : "9 9"));
  }
}

TEST_F(ReportTest, OpenMetricsIsReadStrictly) {
  for (const char* input : {"real.json", "sim.json", "comparison.json"}) {
    ASSERT_EQ(report({input, "--openmetrics", "out.txt"}).code, 0);
    const CommandOutcome read = program("python3", {scripts + "read_openmetrics.py", "out.txt"});
    EXPECT_EQ(read.code, 0) << input << read.err;
    EXPECT_GT(std::atoi(read.out.c_str()), 20) << input;
  }
}

TEST_F(ReportTest, GoogleBenchmarksJsonIsReadByItsOwnComparison) {
  const std::string compare = "/usr/share/benchmark/compare.py";
  const std::string python = "/usr/bin/python3";  // the one that Debian's modules are of
  if (program(python, {"-c", "import scipy"}).code != 0 ||
      program("test", {"-f", compare}).code != 0) {
    GTEST_SKIP() << "compare.py is not installed (libbenchmark-tools, python3-scipy)";
  }
  ASSERT_EQ(report({"real.json", "--gbench", "gbench.json"}).code, 0);
  const CommandOutcome read =
      program(python, {compare, "benchmarks", "gbench.json", "gbench.json"});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, AllOf(HasSubstr("ring/shm/workers:2/1024/f32/sum"), HasSubstr("+0.0000")));
}

TEST_F(ReportTest, MarkdownOfAComparisonBeginsWithWhatFails) {
  const CommandOutcome outcome = report({"comparison.json", "--format", "markdown"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("### "), HasSubstr("❌ **3 cases fail.**"),
                                 HasSubstr("| **slower** | tree/sim/")));
}

TEST_F(ReportTest, UnderGithubActionsAComparisonLeavesAnnotationsAndAStepSummary) {
  folder_->write("summary.md", "from a step before\n");
  const CommandOutcome outcome = invoke(
      *folder_, {"compare", "sim.json", "head.json", "-q"},
      {{"GITHUB_ACTIONS", "true"}, {"GITHUB_STEP_SUMMARY", folder_->path() + "/summary.md"}});
  EXPECT_THAT(outcome.err, HasSubstr("::error title=slower%3A tree/sim/"));
  EXPECT_THAT(folder_->read("summary.md"),
              AllOf(StartsWith("from a step before\n"), HasSubstr("| verdict | case |")));
}

TEST_F(ReportTest, NcclsTableHasTheColumnsThatItsParsersCount) {
  const CommandOutcome outcome =
      report({"real.json", "-F", "algo:ring workers:2", "--format", "nccl"});
  const CommandOutcome read = invoke_program(
      *folder_, "python3",
      {"-c",
       "import sys\n"
       "rows = [line.split() for line in sys.argv[1].splitlines() if line and line[0] != '#']\n"
       "print(len(rows), {len(row) for row in rows}, [row[0] for row in rows])\n",
       outcome.out});
  EXPECT_EQ(read.out, "3 {13} ['1024', '8192', '65536']\n") << outcome.out;
}

TEST_F(ReportTest, GnuplotDrawsWhatItIsGiven) {
  if (is_missing("gnuplot")) GTEST_SKIP() << "gnuplot is not installed (gnuplot-nox)";
  for (const char* picture : {"out.svg", "out.png", "out.pdf"}) {
    const CommandOutcome outcome = report({"real.json", "sim.json", "--plot", picture});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << picture;
  }
  EXPECT_THAT(folder_->read("out.svg"), HasSubstr("</svg>"));
  EXPECT_THAT(folder_->read("out.png"), StartsWith("\x89PNG"));
  EXPECT_THAT(folder_->read("out.pdf"), StartsWith("%PDF"));
  EXPECT_THAT(report({"real.json", "--plot", "-"}).out, HasSubstr("bytes per worker"));
}

TEST_F(ReportTest, WhatGnuplotWouldReadIsWrittenWithoutIt) {
  for (const char* drawn : {"--plot", "--winners"}) {
    const CommandOutcome outcome = report({"real.json", "sim.json", drawn, "drawn.gp"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(folder_->read("drawn.gp"), HasSubstr("'drawn.svg'")) << drawn;
  }
}

TEST_F(ReportTest, ThePageIsDrawnInABrowserWithoutAWord) {
  if (is_missing("chromium")) GTEST_SKIP() << "chromium is not installed";
  const CommandOutcome outcome = report({"comparison.json", "real.json", "sim.json", "--topo",
                                         "star:4,10GBps,5us", "--html", "page.html"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* mode : {"LIGHT", "DARK"}) {
    const CommandOutcome read = program("bash", {scripts + "read_page.sh", "page.html", mode});
    EXPECT_EQ(read.code, 0) << read.err;
    EXPECT_EQ(read.err, "");
    EXPECT_THAT(read.out,
                StartsWith("busbw gantt samples scatter time topology verdicts winners "));
  }
}

TEST_F(ReportTest, ThePageOverlaysBackEndsAndItsMapComparesAcrossThem) {
  if (is_missing("node")) GTEST_SKIP() << "node is not installed (nodejs)";
  // The ring is the faster one over shared memory, the tree over gRPC and of all.
  const CommandOutcome mixed =
      program("python3", {"-c",
                          "import json\n"
                          "file = json.load(open('real.json'))\n"
                          "records = [r for r in file['records'] if r['case']['workers'] == 2\n"
                          "           and r['case']['algorithm'] in ('ring', 'tree')]\n"
                          "times = {('ring', 'shm'): 2, ('ring', 'grpc'): 9, ('tree', 'shm'): 3,\n"
                          "         ('tree', 'grpc'): 1}\n"
                          "file['records'] = []\n"
                          "for record in records:\n"
                          "    for backend in 'shm', 'grpc':\n"
                          "        made = json.loads(json.dumps(record))\n"
                          "        made.pop('crc32c', None)\n"
                          "        made['case']['backend'] = backend\n"
                          "        made['bound'] = None\n"
                          "        ns = 1000 * times[made['case']['algorithm'], backend]\n"
                          "        made['latency_ns'] = [ns for _ in made['latency_ns']]\n"
                          "        file['records'].append(made)\n"
                          "json.dump(file, open('mixed.json', 'w'))\n"});
  ASSERT_EQ(mixed.code, 0) << mixed.err;
  const CommandOutcome made = report({"mixed.json", "--html", "mixed.html"});
  ASSERT_EQ(made.code, 0) << made.err;
  const CommandOutcome read = program("node", {scripts + "read_charts.js", "mixed.html",
                                               COLLBENCH_SOURCE_DIR "/bench/reports/html"});
  EXPECT_EQ(read.out,
            "line ring@shm #4477AA circle \"solid\"\n"
            "line ring@grpc #4477AA rect \"dashed\"\n"
            "line tree@shm #EE6677 circle \"solid\"\n"
            "line tree@grpc #EE6677 rect \"dashed\"\n"
            "columns algorithm backend workers\n"
            "panel 2 workers\n"
            "winner 1024 tree@grpc\nwinner 8192 tree@grpc\nwinner 65536 tree@grpc\n")
      << read.err;
}

TEST_F(ReportTest, ThePageShowsAHistoryWithItsChanges) {
  for (int day = 1; day <= 6; ++day) {
    ASSERT_EQ(invoke(*folder_,
                     {"history", "add", "sim.json", day < 4 ? "sim.json" : "head.json", "--db",
                      "history.sqlite", "--when", "2026-11-0" + std::to_string(day) + "T12:00:00Z"})
                  .code,
              0);
  }
  ASSERT_EQ(report({"sim.json", "--history", "history.sqlite", "--html", "page.html"}).code, 0);
  const CommandOutcome data = program(
      "python3", {"-c",
                  "import json, re\n"
                  "page = open('page.html').read()\n"
                  "data = json.loads(re.search('id=\"data\">(.*?)</script>', page).group(1))\n"
                  "for series in data['history']:\n"
                  "    if series['name'].startswith('tree'):\n"
                  "        print(len(series['points']), series['changes'])\n"});
  EXPECT_EQ(data.out, "6 [[3, '+20.0 %']]\n6 [[3, '+20.0 %']]\n6 [[3, '+20.0 %']]\n") << data.err;
  if (is_missing("chromium")) GTEST_SKIP() << "chromium is not installed";
  const CommandOutcome read = program("bash", {scripts + "read_page.sh", "page.html", "LIGHT"});
  EXPECT_EQ(read.code, 0) << read.err;
  EXPECT_THAT(read.out, HasSubstr(" history "));
}

TEST_F(ReportTest, TheLibraryInThePageIsTheOneOfNpm) {
  const std::string folder = COLLBENCH_SOURCE_DIR "/bench/reports/html/echarts/";
  const CommandOutcome sum = program("sha256sum", {folder + "echarts.min.js"});
  const CommandOutcome stated =
      program("grep", {"-c", sum.out.substr(0, 64), folder + "README.md"});
  EXPECT_EQ(stated.out, "1\n") << sum.out;
}

TEST_F(ReportTest, ATableOfNcclTestsComesBackAsItWas) {
  // Synthetic figures in nccl-tests' form.
  const std::string rows =
      "     1048576        262144     float     sum      -1    199.9    5.25    9.18      0    "
      "197.7    5.30    9.28      0\n"
      "    33554432       8388608     float     sum      -1   2500.7   13.42   23.48      0   "
      "2520.8   13.31   23.29      0\n";
  folder_->write("job.txt",
                 "# nThread 1 nGpus 8 minBytes 1048576 maxBytes 33554432 step: 32(factor) warmup "
                 "iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n"
                 "#       size         count      type   redop    root     time   algbw   busbw "
                 "#wrong     time   algbw   busbw #wrong\n"
                 "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)  "
                 "          (us)  (GB/s)  (GB/s)\n" +
                     rows);
  const CommandOutcome outcome = report({"job.txt,ranks=8", "--format", "nccl"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const CommandOutcome same = invoke_program(
      *folder_, "python3",
      {"-c",
       "import sys\n"
       "def rows(text): return [line.split() for line in text.splitlines() "
       "if line.strip() and not line.startswith('#')]\n"
       "mine, theirs = rows(sys.argv[1]), rows(sys.argv[2])\n"
       "for a, b in zip(mine, theirs, strict=True):\n"
       "    assert a[:5] == b[:5], (a, b)\n"
       "    for i in (5, 6, 7, 9, 10, 11): assert abs(float(a[i]) - float(b[i])) <= 0.011, (a, b)\n"
       "print('same')\n",
       outcome.out, rows});
  EXPECT_EQ(same.out, "same\n") << same.err << outcome.out;
}

TEST_F(ReportTest, RefusesWhatItCannotReadOrShow) {
  folder_->write("junk.json", "{\"a\": 1}");
  const auto expect_refused = [](const std::vector<std::string>& arguments,
                                 const std::string& message) {
    const CommandOutcome outcome = report(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(message));
  };
  const CommandOutcome unreadable = report({std::string(5000, 'a')});
  EXPECT_EQ(unreadable.code, 4);
  EXPECT_THAT(unreadable.err, HasSubstr("error: cannot read 'aaa"));
  expect_refused({"junk.json"}, "junk.json: no table of nccl-tests");
  expect_refused({"real.json", "--format", "tabel"}, "Did you mean 'table'?");
  expect_refused({"real.json", "--csv", "-", "--format", "table"},
                 "standard output already carries");
  expect_refused({"comparison.json", "--format", "csv"}, "only a comparison was given");
  expect_refused({"comparison.json", "comparison.json"}, "a report shows one");
  expect_refused({"real.json", "--plot", "out.bmp"}, "a plot is a .svg, .png or .pdf");
  expect_refused({"real.json", "--columns", "bsbw"}, "Did you mean 'busbw'?");
  expect_refused({"real.json", "-F", "algo:nothing"}, "no records to show");
  expect_refused({"sim.json", "--topo", "star:9,1Gbps,1us", "--html", "a.html"},
                 "no simulated case is of 'star:9,1Gbps,1us'; there are: ");
  expect_refused({"real.json", "--repository", "git@host:me/it", "--html", "a.html"},
                 "'git@host:me/it' is no http or https URL");
  EXPECT_EQ(report({"none.json"}).code, 4);
  EXPECT_EQ(report({"real.json", "--history", "none.sqlite", "--html", "a.html"}).code, 4);
  EXPECT_EQ(report({"real.json", "--html", "/no/such/folder/a.html"}).code, 4);
}

TEST_F(ReportTest, ATableOfTwoFilesSaysWhoseItsRowsAre) {
  EXPECT_THAT(report({"sim.json", "head.json"}).out,
              HasSubstr("# rows 1 to 9 are of sim.json, 10 to 18 of head.json\n"));
}

}  // namespace
}  // namespace collbench
