// The page's data and its frame. tests/cli/report_test.cc opens the page in a browser.
#include "bench/reports/html_report.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"
#include "tests/bench/report_verdicts.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::Not;

HtmlReport report_of(std::vector<Record> records) {
  HtmlReport report;
  report.title = "a title";
  report.sources.push_back({"a.json", {scripted_environment(), std::move(records)}});
  return report;
}

std::string page_of(const HtmlReport& report) {
  std::ostringstream out;
  write_html(out, report);
  return out.str();
}

TEST(PageDataTest, ARowHasTheFiguresOfItsRecord) {
  const auto data = parse_json<nlohmann::json>(
      page_data(report_of({scripted_record("ring", 8, {1 << 20}, 100'000)})));
  const auto& row = data["rows"][0];
  EXPECT_EQ(data["words"][row[1].get<std::size_t>()], "ring");
  EXPECT_EQ(row[4], 8);
  EXPECT_EQ(row[5], 1 << 20);
  EXPECT_EQ(row[13], 100.0);                        // median, us
  EXPECT_NEAR(row[21].get<double>(), 18.35, 0.01);  // busbw, GB/s
  EXPECT_EQ(row[28].size(), 20U);                   // samples
}

TEST(PageDataTest, SeriesNameTheirBackEndsWhereTheseDifferAndAlgorithmsHaveTheirPlaces) {
  Record elsewhere = scripted_record("ring", 8, {1 << 20}, 200'000);
  elsewhere.point.backend = "grpc";
  Record library = scripted_record("mpi", 8, {1 << 20}, 300'000);
  library.point.backend = "mpi";
  const std::vector<Record> records = {scripted_record("ring", 8, {1 << 20}, 100'000), elsewhere,
                                       library};
  const auto data = parse_json<nlohmann::json>(page_data(report_of(records)));
  const auto contender = [&](std::size_t row) {
    return data["words"][data["rows"][row].back().get<std::size_t>()];
  };
  EXPECT_EQ(contender(0), "ring@shm");
  EXPECT_EQ(contender(1), "ring@grpc");
  EXPECT_EQ(contender(2), "mpi");
  EXPECT_EQ(data["places"].size(), 2U);
  EXPECT_NE(data["places"]["ring"], data["places"]["mpi"]);
}

TEST(PageDataTest, WhatIsNotKnownIsNullAndSkippedCasesSayWhy) {
  Record skipped = scripted_record("mpi", 2, {1024}, 1);
  skipped.measurement = {};
  skipped.skipped = "no mpirun";
  const auto data = parse_json<nlohmann::json>(page_data(report_of({skipped})));
  EXPECT_TRUE(data["rows"][0][13].is_null());
  EXPECT_THAT(data["words"].dump(), HasSubstr("no mpirun"));
}

TEST(PageDataTest, FewIterationsAndTablesWithAMeanHaveNoInterval) {
  Record few = scripted_record("ring", 8, {1 << 20}, 100'000);
  few.measurement.latency_ns.resize(5);
  Record stated = scripted_record("ring", 8, {1 << 20}, 100'000);
  stated.point.statistic = "mean";
  const auto data = parse_json<nlohmann::json>(page_data(report_of({few, stated})));
  for (const auto& row : data["rows"]) EXPECT_TRUE(row[18].is_null() && row[19].is_null()) << row;
}

TEST(PageDataTest, SamplesAreOfOneCall) {
  Record record = scripted_record("sort", 1, {1024}, 5500);
  record.point.calls = 1000;
  const auto data = parse_json<nlohmann::json>(page_data(report_of({record})));
  EXPECT_DOUBLE_EQ(data["rows"][0][13].get<double>(), 0.0055);
  EXPECT_DOUBLE_EQ(data["rows"][0][28][0].get<double>(), 5.5);
}

TEST(PageDataTest, WhatElseWasAskedOfACaseIsItsDetail) {
  Record plain = scripted_record("ring", 8, {1024}, 1000);
  std::vector<Record> records(6, plain);
  records[1].point.checksum = true;
  records[2].point.inject = "drop:rank=1";
  records[3].point.devices = "gpu:0";
  records[4].point.collective = CollectiveKind::broadcast;
  records[4].point.root = 3;
  records[5].point.simulated.topology = "star:8";
  records[5].point.simulated.engine = "fluid";
  records[5].point.simulated.jitter = Seconds{5e-6};
  records[5].point.simulated.seed = 7;
  const auto data = parse_json<nlohmann::json>(page_data(report_of(records)));
  std::vector<std::string> details;
  for (const auto& row : data["rows"]) {
    details.push_back(data["words"][row[11].get<std::size_t>()].get<std::string>());
  }
  EXPECT_THAT(details, testing::ElementsAre("", "checksums", "faults drop:rank=1", "devices gpu:0",
                                            "broadcast, root 3", HasSubstr("of seed 7")));
  EXPECT_THAT(details[5], HasSubstr("engine fluid"));
}

TEST(PageDataTest, SaysWhereMachinesDifferAlsoInOneFile) {
  HtmlReport report = report_of({scripted_record("ring", 8, {1024}, 1000)});
  EXPECT_EQ(machines_differ(report), "");
  report.sources.push_back(report.sources.front());
  report.sources.back().file.environment["host"] = "other";
  EXPECT_EQ(machines_differ(report), "host: 'box' is not 'other'");
  const auto data = parse_json<nlohmann::json>(page_data(report));
  EXPECT_EQ(data["machines"], "host: 'box' is not 'other'");
  EXPECT_EQ(data["notes"].size(), 1U);
  Environment& merged = report.sources.front().file.environment;
  add_environment(report.sources.back().file.environment, merged);
  report.sources.pop_back();
  EXPECT_EQ(machines_differ(report), "host: 'box; other'");
}

TEST(PageDataTest, NoTextCanEndTheScriptElement) {
  Record record = scripted_record("ring", 2, {1024}, 1000);
  record.skipped = "</script><script>alert(1)</script><!--";
  HtmlReport report = report_of({record});
  report.title = "</title><b>";
  const std::string data = page_data(report);
  EXPECT_THAT(data, Not(HasSubstr("<")));
  const std::string page = page_of(report);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("</title><b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;/title&gt;"), std::string::npos);
}

TEST(PageHeadTest, SaysWhereWhenAndWithWhat) {
  Record later = scripted_record("ring", 4, {1024}, 1000);
  later.started = "2026-01-02T04:05:06Z";
  HtmlReport report = report_of({scripted_record("ring", 2, {1024}, 1000), later});
  report.sources[0].file.environment["git_revision"] = "0123abc";
  EXPECT_THAT(page_of(report), HasSubstr("<dd>box: 4 x Test \"CPU\", 1 GHz</dd>"));
  EXPECT_THAT(page_of(report), HasSubstr("<dd>2026-01-02 03:04 to 04:05 UTC</dd>"));
  EXPECT_THAT(page_of(report), HasSubstr("<dd>collbench 0.1.0 at 0123abc</dd>"));
  report.repository = "https://example.org/me/it";
  EXPECT_THAT(page_of(report),
              HasSubstr("at <a href=\"https://example.org/me/it/commit/0123abc\">0123abc</a>"));
  // What cannot be a revision becomes no part of a URL.
  report.sources[0].file.environment["git_revision"] = "../../evil";
  EXPECT_THAT(page_of(report), Not(HasSubstr("commit/../")));
}

TEST(PageHeadTest, FilesOfOneMachineAndRevisionShareAnEntryAndTablesOfOthersSayNothing) {
  HtmlReport report = report_of({scripted_record("ring", 2, {1024}, 1000)});
  report.sources.push_back(report.sources[0]);
  report.sources[1].name = "b.json";
  const auto entries = [&] {
    const std::string page = page_of(report);
    std::size_t count = 0;
    for (std::size_t at = page.find("<dl"); at != std::string::npos;
         at = page.find("<dl", at + 1)) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(entries(), 1U);
  report.sources[1].file.environment["host"] = "other";
  EXPECT_EQ(entries(), 2U);
  EXPECT_THAT(page_of(report), HasSubstr("<dd>b.json</dd>"));
  report.sources.resize(1);
  report.sources[0].file.environment = {{"source", "nccl-tests"}};
  report.sources[0].file.records[0].started = "";
  EXPECT_EQ(entries(), 0U);
}

TEST(PageDataTest, TextThatIsNotUtf8DoesNotSpoilThePage) {
  HtmlReport report = report_of({scripted_record("ring", 2, {1024}, 1000)});
  report.sources[0].file.environment["host"] = "caf\xe9";
  EXPECT_TRUE(nlohmann::json::accept(page_data(report)));
}

TEST(PageDataTest, ManySamplesAreThinnedEvenly) {
  std::vector<Record> records(200, scripted_record("ring", 2, {1024}, 1000));
  for (Record& record : records) record.measurement.latency_ns.assign(20'000, 1000);
  const auto data = parse_json<nlohmann::json>(page_data(report_of(records)));
  std::size_t samples = 0;
  for (const auto& row : data["rows"]) {
    EXPECT_EQ(row[12], 20'000);  // n is that of the record
    samples += row[28].size();
  }
  EXPECT_LE(samples, most_page_samples);
  EXPECT_GT(samples, most_page_samples / 2);
}

TEST(PageDataTest, VerdictsComeWorstFirst) {
  HtmlReport report = report_of({});
  const Comparison comparison =
      scripted_comparison({scripted_verdict("fine", VerdictOutcome::same, 1.0),
                           scripted_verdict("slow", VerdictOutcome::slower, 1.2)});
  report.comparison = &comparison;
  const auto data = parse_json<nlohmann::json>(page_data(report));
  EXPECT_EQ(data["comparison"]["verdicts"][0]["name"], "slow");
  EXPECT_EQ(data["comparison"]["verdicts"][0]["fails"], true);
  EXPECT_EQ(data["comparison"]["counts"]["same"], 1);
}

TEST(PageTest, LoadsNothing) {
  std::string page = page_of(report_of({scripted_record("ring", 2, {1024}, 1000)}));
  // The library can make images and links; the page's own parts must not.
  page.erase(page.find(echarts_script()), echarts_script().size());
  for (const char* part : {"<link", "<img", " src=", "@import", "http://", "https://"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(PageTest, HasATableForThoseWithoutScripts) {
  const std::string page = page_of(report_of({scripted_record("ring", 8, {1 << 20}, 100'000)}));
  const std::size_t plain = page.find("<noscript>");
  ASSERT_NE(plain, std::string::npos);
  EXPECT_LT(page.find("18.35", plain), page.find("</noscript>"));
}

TEST(PageTest, HoldsItsScriptsWhole) {
  EXPECT_THAT(std::string(echarts_script()), HasSubstr("Apache Software Foundation"));
  EXPECT_EQ(echarts_script().size(), 1'121'883U);
  EXPECT_TRUE(page_script().ends_with("start();\n"));
  EXPECT_TRUE(page_style().ends_with("}\n"));
}

}  // namespace
}  // namespace collbench
