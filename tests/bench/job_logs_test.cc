// The logs of jobs: each format's sample gets its expected answer, whatever its file is called, and
// whole or cut short no reader fails otherwise than by InvalidArgument.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/job_files.h"
#include "bench/logs/job_report.h"
#include "bench/logs/job_verdict.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"

namespace collbench {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

const std::string samples = COLLBENCH_SOURCE_DIR "/tests/bench/job_logs/";

json judged(JobLog job) {
  const JobVerdict verdict = judge_job(job, {});
  std::ostringstream out;
  write_job_json(out, {job, verdict, {}});
  return parse_json<json>(out.str());
}

/// Whether every member of `expected` is in `found`, numbers within 3 % or one unit.
void expect_like(const json& found, const json& expected, const std::string& place) {
  if (expected.is_object()) {
    for (const auto& [key, value] : expected.items()) {
      expect_like(found.is_object() ? found.value(key, json("absent")) : json("no object"), value,
                  place + "/" + key);
    }
  } else if (expected.is_array()) {
    ASSERT_TRUE(found.is_array()) << place;
    ASSERT_EQ(found.size(), expected.size()) << place << " " << found.dump();
    for (std::size_t i = 0; i < expected.size(); ++i) expect_like(found[i], expected[i], place);
  } else if (expected.is_number()) {
    ASSERT_TRUE(found.is_number()) << place << " " << found.dump();
    const auto value = expected.get<double>();
    EXPECT_NEAR(found.get<double>(), value, 0.03 * std::abs(value) + 1) << place;
  } else {
    EXPECT_EQ(found, expected) << place;
  }
}

TEST(JobLogsTest, EverySampleGetsItsAnswer) {
  const json expected = parse_json<json>(read_file(samples + "expected.json"));
  EXPECT_EQ(expected.size(), 28U);
  for (const auto& [path, answer] : expected.items()) {
    if (path == "_") continue;
    expect_like(judged(read_job({samples + path})), answer, path);
  }
}

std::vector<std::string> sample_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    const std::string name = entry.path().filename();
    const bool is_log = entry.is_regular_file() && name != "README.md" && name != "LICENSE" &&
                        name != "expected.json";
    if (is_log) files.push_back(entry.path());
  }
  return files;
}

TEST(JobLogsTest, FormatsAreRecognisedByContent) {
  std::set<std::string> formats;
  for (const std::string& file : sample_files()) {
    JobLog job;
    read_log(read_file(file), "7", job);
    formats.insert(job.formats.begin(), job.formats.end());
  }
  EXPECT_EQ(formats.size(), log_readers().size()) << "a format has no sample";
  JobLog job;
  EXPECT_THROW(read_log("size,time\n1,2\n", "table.csv", job), InvalidArgument);
}

TEST(JobLogsTest, FilesThatAreCutShortAreReadAsFarAsTheyGo) {
  int answered = 0;
  for (const std::string& file : sample_files()) {
    const std::string whole = read_file(file);
    for (const double part : {0.05, 0.3, 0.5, 0.77, 0.99}) {
      JobLog job;
      const auto length = static_cast<std::size_t>(part * static_cast<double>(whole.size()));
      try {
        read_log(std::string_view(whole).substr(0, length), file, job);
      } catch (const InvalidArgument&) {
        continue;
      }
      judge_job(job, {});
      if (!job.records.empty() || !job.programs.empty() || !job.issued.empty()) ++answered;
    }
  }
  EXPECT_GT(answered, 120) << "most cut files still say something";
}

TEST(FlightRecorderTest, MembersComeInAnyOrderAndOfABeginningWholeEntriesCount) {
  const auto entry = [](int sequence) {
    return fmt::format(
        R"({{"collective_seq_id":{}.0,"duration_ms":2.5,"frames":[{{"state":"x","line":[1]}}],)"
        R"("process_group":["0","d\u00e4t\"a}}"],"profiling_name":"nccl:all\u005freduce",)"
        R"("state":"completed","input_sizes":[[3,5],[2]],"input_dtypes":["Float","Half"]}})",
        sequence);
  };
  const std::string entries = fmt::format("\"entries\":[{}, {} ,{}]", entry(1), entry(2), entry(3));
  const std::string groups = R"("pg_config":{"0":{"ranks":"[4, 7]"}},"rank":7,"version":"2.10")";
  for (const std::string& text :
       {"{" + groups + ", " + entries + "}", "{" + entries + "," + groups + "}"}) {
    for (std::size_t size = text.size(); size > text.find("entries") + 12; --size) {
      JobLog job;
      read_flight_recorder_json(text.substr(0, size), "rank_7", job);
      std::size_t whole = 0;
      for (const int sequence : {1, 2, 3}) {
        const std::size_t end = text.find(entry(sequence)) + entry(sequence).size();
        whole += size >= end ? 1 : 0;
      }
      ASSERT_EQ(job.records.size(), whole) << text.substr(0, size);
      EXPECT_EQ(job.left_out.size(), size == text.size() ? 0U : 1U);
      if (whole == 0) continue;
      const LogRecord& last = job.records.back();
      EXPECT_EQ(last.sequence, static_cast<std::int64_t>(whole));
      EXPECT_EQ(last.kind, LoggedKind::all_reduce);
      EXPECT_EQ(last.bytes, 3 * 5 * 4 + 2 * 2);
      EXPECT_DOUBLE_EQ(last.duration_us, 2500);
      EXPECT_EQ(job.communicators[0].name, "d\u00e4t\"a}");
      if (text.substr(0, size).find("7]\"}") == text.npos) continue;
      EXPECT_EQ(job.communicators[0].members, (std::vector<int>{4, 7}));
      EXPECT_EQ(last.rank, 1);
    }
  }
}

TEST(FlightRecorderTest, AnEntryThatIsNoObjectIsNamed) {
  JobLog job;
  const std::string text = R"({"version":"2.10","entries":[{"collective_seq_id":1},{"a" 5},{}]})";
  EXPECT_THAT([&] { read_flight_recorder_json(text, "rank_0", job); },
              ThrowsMessage<InvalidArgument>(HasSubstr("entry 1")));
}

TEST(JobLogsTest, ACutIsCountedAndNamed) {
  for (const char* file :
       {"flight_recorder/late_rank_json/fr_rank_0.json",
        "flight_recorder/hang_pickle/nccl_trace_rank_0", "inspector/late_rank/synth-a-pid4101.log",
        "chakra/ddp.0.et", "kineto/late_rank_skewed_clocks/rank0.pt.trace.json"}) {
    const std::string whole = read_file(samples + file);
    JobLog job;
    read_log(std::string_view(whole).substr(0, whole.size() * 3 / 5), file, job);
    EXPECT_FALSE(job.records.empty()) << file;
    EXPECT_THAT(job.left_out, Contains(testing::Key(HasSubstr("cut short")))) << file;
  }
}

TEST(JobLogsTest, TextAndMarkdownSayTheSameFirst) {
  JobLog job = read_job({samples + "inspector/late_rank"});
  const JobVerdict verdict = judge_job(job, {});
  std::ostringstream text;
  std::ostringstream markdown;
  std::ostringstream csv;
  write_job_text(text, {job, verdict, {}});
  write_job_markdown(markdown, {job, verdict, {}});
  write_job_csv(csv, {job, verdict, {}});
  EXPECT_THAT(text.str(), HasSubstr("late rank: 2: last in 12 of 12 operations"));
  EXPECT_THAT(text.str(), HasSubstr("rank 2 (synth-b pid 7301) came last"));
  EXPECT_THAT(markdown.str(), HasSubstr("late rank: 2: last in 12 of 12 operations"));
  EXPECT_THAT(markdown.str(), HasSubstr("| all-reduce | 25 MiB | 9 |"));
  EXPECT_THAT(csv.str(), HasSubstr("0x5d31c7a90be442,4,all-reduce,26214400,9,919.111,"));
}

std::string page_of(JobLog job) {
  const JobVerdict verdict = judge_job(job, {});
  std::ostringstream page;
  write_job_html(page, {job, verdict, {}});
  return page.str();
}

TEST(JobLogsTest, ThePageHasTheAnswersTheWaitingAndTheTablesWithoutAScript) {
  const std::string page = page_of(read_job({samples + "inspector/late_rank"}));
  for (const char* part :
       {"<h1>NCCL Inspector: 4 files, 48 records of 1 communicator</h1>",
        "<p class=\"good\">Network: healthy", "<p class=\"bad\">Late rank: 2: last in 12 of 12",
        "Mean waiting by rank", "rank 2</text><rect class=\"slow\"",
        "<b>a rank is late (straggler, 99 %)</b>", "<h3>Communicator 'DP Group 0'",
        "<td>all-reduce</td><td class=\"n\">25 MiB</td>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_EQ(page.find("<script"), page.npos);
  EXPECT_EQ(page.find("/>"), page.npos);
}

TEST(JobLogsTest, NoNameInALogBecomesAPartOfThePage) {
  JobLog job = read_job({samples + "inspector/late_rank"});
  job.communicators.front().name = "<img src=x>";
  job.processes[0].name = "</section><b>";
  EXPECT_THAT(page_of(std::move(job)),
              testing::AllOf(HasSubstr("&lt;img src=x&gt;"), testing::Not(HasSubstr("<img"))));
}

TEST(JobLogsTest, TheLogOfOneRankSaysNothingOfItsWaiting) {
  JobLog job = read_job({samples + "inspector/late_rank/synth-a-pid4101.log"});
  const JobVerdict verdict = judge_job(job, {});
  EXPECT_FALSE(std::isfinite(verdict.transfer_us_of_rank0));
  for (const double wait : verdict.mean_wait_us) EXPECT_FALSE(std::isfinite(wait));
  for (const SizeFigures& row : verdict.sizes) {
    EXPECT_FALSE(std::isfinite(row.transfer_us));
    EXPECT_GT(row.duration_us, 2000);
  }
  std::ostringstream text;
  write_job_text(text, {job, verdict, {}});
  EXPECT_THAT(text.str(), HasSubstr("cannot be told from one rank's durations"));
  EXPECT_THAT(text.str(), HasSubstr("late rank: cannot be told from this, because "));
}

TEST(JobLogsTest, GzipIsUnpackedAndBounded) {
  // printf 'abc' | gzip -n, and the same once more behind it.
  const std::string one(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35"
      "\x03\x00\x00\x00",
      23);
  bool cut = true;
  EXPECT_EQ(unpacked(one + one, "f", 100, cut), "abcabc");
  EXPECT_FALSE(cut);
  EXPECT_EQ(unpacked(one + std::string(512, '\0'), "f", 100, cut), "abc");
  EXPECT_FALSE(cut);
  EXPECT_EQ(unpacked(one.substr(0, 14), "f", 100, cut).substr(0, 2), "ab");
  EXPECT_TRUE(cut);
  EXPECT_THROW(unpacked(one, "f", 2, cut), InvalidArgument);
  EXPECT_THROW(unpacked("\x1f\x8bnothing of gzip", "f", 100, cut), InvalidArgument);
}

TEST(JobLogsTest, OldProfilersLeaveWordsWithoutQuotes) {
  std::string text = read_file(samples + "nccl_profiler/trace_6714208823001845762_0.json");
  for (const std::string word : {"ncclFloat32", "0x55e1c0a8d2f0"}) {
    const std::string quoted = '"' + word + '"';
    for (std::size_t at = 0; (at = text.find(quoted, at)) != text.npos;) {
      text.replace(at, quoted.size(), word);
    }
  }
  // A backslash at the end of a text does not escape the quote behind it.
  text.insert(1, R"({"name":"C:\\","cat":"GROUP_API","args":{"word":ncclFloat32}},)");
  EXPECT_FALSE(json::accept(text));
  JobLog job;
  read_log(text, "old", job);
  ASSERT_EQ(job.records.size(), 4U);
  EXPECT_EQ(job.records[0].bytes, 26214400);
}

TEST(JobLogsTest, PicklesThatCallSomethingAreRefused) {
  using namespace std::string_literals;
  for (const std::string& pickle : {"\x80\x02"
                                    "cos\nsystem\n(X\x02\x00\x00\x00lstR."s,
                                    "\x80\x02"
                                    "}q\x00(c__main__\nA\nu."s}) {
    JobLog job;
    try {
      read_log(pickle, "evil", job);
      FAIL() << "was read";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), HasSubstr("it is not run"));
    }
  }
}

TEST(JobLogsTest, ExpectationsThatAreStatedDecide) {
  NetworkExpectation stated;
  stated.bus = Bandwidth{200e9};
  JobLog job = read_job({samples + "inspector/healthy"});
  EXPECT_EQ(judge_job(job, stated).network.state, NetworkState::slow);
  stated.bus = Bandwidth{15e9};
  job = read_job({samples + "inspector/slow_network"});
  EXPECT_EQ(judge_job(job, stated).network.state, NetworkState::healthy);
}

}  // namespace
}  // namespace collbench
