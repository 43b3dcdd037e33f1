// What a run says of the run before it.
#include "bench/reports/last_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> lines_of(const RecordFile& before, const RecordFile& after) {
  LastRun last(before, "out.json");
  last.begin(after.environment);
  for (const Record& record : after.records) last.add(record, figures(record));
  return last.lines();
}

RecordFile ring_of(std::int64_t latency_ns) {
  return {
      scripted_environment(),
      {scripted_record("ring", 2, {1024}, latency_ns), scripted_record("ring", 4, {1024}, 5000)}};
}

TEST(LastRunTest, CountsWhatIsAsFastAndNamesWhatChanged) {
  EXPECT_THAT(
      lines_of(ring_of(1000), ring_of(1030)),  // less than 5 %, though the intervals are apart
      ElementsAre("since the run of 2026-01-02 03:04 UTC in out.json: 2 of 2 cases as fast"));
  EXPECT_THAT(lines_of(ring_of(1000), ring_of(1200)),
              ElementsAre(HasSubstr("1 of 2 cases as fast"),
                          HasSubstr("1 KiB ring on shm, 2 workers: 1.000 us -> 1.200 us (+20.0 %)"),
                          HasSubstr("collbench ab")));
  EXPECT_THAT(lines_of(ring_of(1000), ring_of(500)), testing::Contains(HasSubstr("-50.0 %")));
}

TEST(LastRunTest, FewIterationsAreNotCompared) {
  RecordFile before = ring_of(1000);
  RecordFile after = ring_of(4000);
  before.records[0].measurement.latency_ns.resize(5);
  EXPECT_THAT(lines_of(before, after),
              ElementsAre(HasSubstr("1 of 1 cases as fast, 1 of too few iterations to compare")));
  after.records[1].measurement.latency_ns.resize(1);
  EXPECT_THAT(lines_of(before, after),
              ElementsAre(HasSubstr("out.json: 2 of too few iterations to compare")));
}

TEST(LastRunTest, ALargeChangeWithinTheNoiseOfBothIsNone) {
  RecordFile before = ring_of(1000);
  RecordFile after = ring_of(1000);
  // Medians 1000 and 1300, whose intervals overlap widely.
  for (std::size_t i = 0; i < 20; ++i) {
    before.records[0].measurement.latency_ns[i] = i < 11 ? 1000 : 2000;
    after.records[0].measurement.latency_ns[i] = i < 9 ? 600 : i < 11 ? 1300 : 2000;
  }
  EXPECT_THAT(lines_of(before, after), ElementsAre(HasSubstr("2 of 2 cases as fast")));
}

TEST(LastRunTest, SaysNothingWithoutCommonCasesAndRefusesAnotherMachine) {
  const RecordFile other{scripted_environment(), {scripted_record("tree", 2, {1024}, 1000)}};
  EXPECT_THAT(lines_of(other, ring_of(1000)), IsEmpty());
  RecordFile elsewhere = ring_of(1000);
  elsewhere.environment["cpu"] = "another";
  elsewhere.environment["git_revision"] = "def";
  EXPECT_THAT(lines_of(elsewhere, ring_of(1000)),
              ElementsAre(testing::AllOf(HasSubstr("not compared with"), HasSubstr("revision def"),
                                         HasSubstr("cpu: 'another' is not"))));
}

TEST(LastRunTest, OtherBuffersAreAnotherCase) {
  RecordFile cold = ring_of(9000);
  for (Record& record : cold.records) record.point.buffers = Buffers::cold;
  EXPECT_THAT(lines_of(ring_of(1000), cold), IsEmpty());
}

TEST(LastRunTest, ExactTimesAreEqualOrNot) {
  const auto simulated = [](double us, const char* cpu) {
    RecordFile file = ring_of(1000);
    file.environment["cpu"] = cpu;  // simulated times are those of every machine
    file.records.resize(1);
    file.records[0].measurement.exact.emplace().time = Seconds{us / 1e6};
    file.records[0].point.simulated.topology = "star:2,10Gbps,1us";
    return file;
  };
  EXPECT_THAT(lines_of(simulated(10, "a"), simulated(10, "b")),
              ElementsAre(HasSubstr("1 of 1 cases equal")));
  EXPECT_THAT(lines_of(simulated(10, "a"), simulated(10 * (1 + 1e-13), "b")),
              ElementsAre(HasSubstr("1 of 1 cases equal")));
  EXPECT_THAT(lines_of(simulated(10, "a"), simulated(10.01, "b")),
              ElementsAre(HasSubstr("0 of 1 cases equal"),
                          HasSubstr("on star:2,10Gbps,1us, 2 workers: 10.00 us -> 10.01 us")));
}

}  // namespace
}  // namespace collbench
