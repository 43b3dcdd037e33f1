#include "bench/measure/run_cases.h"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "core/error.h"
#include "core/scratch_folder.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// What happened, in order.
using Log = std::vector<std::string>;

class ScriptedTeam final : public Team {
 public:
  explicit ScriptedTeam(Log& log) : log_(log) {}
  Measurement measure(const Case& point, const Sampling& /*sampling*/) override {
    log_.push_back("measure " + point.algorithm);
    if (point.algorithm == "ring:segments=9") throw TransportError("rank 1 was lost");
    if (point.algorithm == "ring:segments=8") {
      Measurement stopped;
      stopped.stopped_by = "SIGTERM at rank 1";
      return stopped;
    }
    const int latency_ns = point.algorithm == "tree" ? 500 : 1000;
    return scripted_record("ring", 2, point.bytes, latency_ns).measurement;
  }

 private:
  Log& log_;
};

class LoggingReporter final : public Reporter {
 public:
  explicit LoggingReporter(Log& log) : log_(log) {}
  void begin(const Environment& /*environment*/, const std::vector<Case>& /*cases*/) override {
    log_.emplace_back("begin");
  }
  void record(const Record& record) override {
    log_.push_back("record " + record.algorithm_chosen + record.skipped);
  }
  void end(const RunSummary& summary) override {
    log_.push_back("end " + std::to_string(summary.measured));
  }

 private:
  Log& log_;
};

class RunCasesTest : public testing::Test {
 protected:
  RunCasesTest() {
    plan_.make = [this](const Case& point, const Sampling&) {
      log_.push_back("start " + point.backend);
      if (point.backend == "mpi") throw Unavailable("no mpirun");
      return std::make_unique<ScriptedTeam>(log_);
    };
  }

  void add(const std::string& algorithm, const std::string& backend) {
    plan_.cases.push_back(scripted_record(algorithm, 2, {1024}, 1).point);
    plan_.cases.back().backend = backend;
  }

  RunResult run() { return run_cases(plan_, scripted_environment(), {&reporter_}); }

  Log log_;
  LoggingReporter reporter_{log_};
  RunPlan plan_;
};

TEST_F(RunCasesTest, StartsATeamOncePerBackEndAndReportsAsItGoes) {
  add("ring", "shm");
  add("ring", "grpc");
  add("tree", "shm");
  const RunResult result = run();
  EXPECT_EQ(result.summary.measured, 3);
  EXPECT_THAT(log_,
              ElementsAre("begin", "start shm", "measure ring", "record ring", "start grpc",
                          "measure ring", "record ring", "measure tree", "record tree", "end 3"));
}

TEST_F(RunCasesTest, StartsNewTeamsInEveryCycle) {
  add("ring", "shm");
  plan_.cycles = 2;
  run();
  EXPECT_THAT(log_, ElementsAre("begin", "start shm", "measure ring", "record ring", "start shm",
                                "measure ring", "record ring", "end 2"));
}

TEST_F(RunCasesTest, MeasuresWhatAutoChoosesAndRecordsWhy) {
  add("auto", "shm");
  plan_.cores = 61;  // on which nothing was measured: the rule decides
  const RunResult result = run();
  EXPECT_EQ(result.records[0].point.algorithm, "auto");
  EXPECT_EQ(result.records[0].algorithm_chosen, "direct");
  EXPECT_THAT(result.records[0].choice_reason, HasSubstr("shared memory"));
  EXPECT_EQ(log_.end()[-3], "measure direct");
}

TEST_F(RunCasesTest, TriesWhatIsCloseOnceAndPlaysTheFastestInEveryCycle) {
  add("auto", "shm");
  plan_.cycles = 2;
  plan_.choose = [](const Case&, int) { return Choice{"ring", "a guess", {"tree"}}; };
  const RunResult result = run();
  EXPECT_EQ(result.records[0].algorithm_chosen, "tree");
  EXPECT_EQ(result.records[1].algorithm_chosen, "tree");
  EXPECT_THAT(result.records[1].choice_reason, HasSubstr("tree 500 ns when tried here, ring 1 us"));
  const auto second_cycle = std::find(log_.begin() + 2, log_.end(), "start shm");
  EXPECT_THAT(std::vector(second_cycle, log_.end()),
              ElementsAre("start shm", "measure tree", "record tree", "end 2"));
}

// Of 1 us a small all-reduce of 2 ranks has one round, and a message passes two links.
TEST_F(RunCasesTest, ASynthesisedScheduleIsCutForTheLatencyOfItsRanks) {
  const ScratchFolder folder("fitted");
  const std::string network = folder.path() + "/star.csv";
  std::ofstream(network) << "from,to,bandwidth_GBps,kind\ng0,s_0,50,nic\ns_0,g0,50,nic\n"
                            "g1,s_0,50,nic\ns_0,g1,50,nic\n";
  const std::string open = "synth:topo=" + network;
  const std::string fitted = "synth:latency=500ns:topo=" + network;
  add(open, "shm");
  add(open, "shm");
  add("synth:latency=3us:topo=" + network, "shm");
  add("synth:topo=star:2,100Gbps,5us", "shm");
  const RunResult result = run();
  EXPECT_EQ(result.error, nullptr);
  EXPECT_EQ(result.records[0].point.algorithm, open);
  EXPECT_EQ(result.records[0].algorithm_chosen, fitted);
  EXPECT_THAT(result.records[0].choice_reason,
              HasSubstr("a link's latency of 500 ns, measured here as the network gives none"));
  EXPECT_THAT(log_,
              ElementsAre("begin", "start shm", "measure recursive-doubling", "measure " + fitted,
                          "record " + fitted, "measure " + fitted, "record " + fitted,
                          "measure synth:latency=3us:topo=" + network, testing::_,
                          "measure synth:topo=star:2,100Gbps,5us", testing::_, "end 4"));
}

TEST_F(RunCasesTest, ATrialThatIsStoppedLeavesNoRecord) {
  add("auto", "shm");
  plan_.choose = [](const Case&, int) { return Choice{"ring", "a guess", {"tree"}}; };
  plan_.stop_requested = [this] { return log_.size() > 4 ? "SIGINT" : ""; };
  const RunResult result = run();
  EXPECT_EQ(result.summary.stopped_by, "SIGINT");
  EXPECT_THAT(result.records, IsEmpty());
  EXPECT_EQ(log_.back(), "end 0");
}

TEST_F(RunCasesTest, KeepsWhatWasMeasuredWhenAWorkerIsLost) {
  add("ring", "shm");
  add("ring:segments=9", "shm");
  add("tree", "shm");
  const RunResult result = run();
  EXPECT_EQ(result.summary.failure, "rank 1 was lost");
  EXPECT_THROW(std::rethrow_exception(result.error), TransportError);
  EXPECT_THAT(result.records, SizeIs(1));
  EXPECT_EQ(log_.back(), "end 1");
}

TEST_F(RunCasesTest, EndsAtOnceWhenABackEndIsMissing) {
  add("mpi", "mpi");
  add("ring", "shm");
  const RunResult result = run();
  EXPECT_THROW(std::rethrow_exception(result.error), Unavailable);
  EXPECT_EQ(result.summary.measured, 0);
}

TEST_F(RunCasesTest, SkipsAMissingBackEndWithItsReasonWhenAsked) {
  add("mpi", "mpi");
  add("ring", "shm");
  plan_.skip_unavailable = true;
  const RunResult result = run();
  EXPECT_FALSE(result.error);
  EXPECT_EQ(result.summary.skipped, 1);
  EXPECT_EQ(result.summary.measured, 1);
  EXPECT_EQ(result.records[0].skipped, "no mpirun");
}

TEST_F(RunCasesTest, StopsBetweenCasesWhenAsked) {
  add("ring", "shm");
  add("tree", "shm");
  plan_.stop_requested = [this] { return log_.size() > 3 ? "SIGINT" : ""; };
  const RunResult result = run();
  EXPECT_EQ(result.summary.stopped_by, "SIGINT");
  EXPECT_EQ(result.summary.measured, 1);
  EXPECT_EQ(log_.back(), "end 1");
}

TEST_F(RunCasesTest, ASignalThatOnlyOneRankHadEndsTheRun) {
  for (const bool in_trial : {false, true}) {
    plan_.cases.clear();
    add("ring", "shm");
    add(in_trial ? "auto" : "ring:segments=8", "shm");
    add("tree", "shm");
    plan_.choose = [](const Case&, int) { return Choice{"ring:segments=8", "a guess", {"tree"}}; };
    const RunResult result = run();
    const RunSummary& summary = result.summary;
    EXPECT_THAT(summary.stopped_by + summary.failure, HasSubstr("SIGTERM at rank 1"));
    EXPECT_EQ(summary.stopped_by.empty(), in_trial);
    EXPECT_THAT(result.records, SizeIs(1));
    EXPECT_EQ(log_.back(), "end 1");
  }
}

TEST_F(RunCasesTest, TakesALostWorkerAfterASignalForTheSignalsDoing) {
  add("ring:segments=9", "shm");
  plan_.stop_requested = [this] { return log_.size() > 2 ? "SIGINT" : ""; };
  const RunResult result = run();
  EXPECT_EQ(result.summary.stopped_by, "SIGINT");
  EXPECT_FALSE(result.error);
}

TEST_F(RunCasesTest, CountsCasesWhoseResultIsWrong) {
  add("ring", "shm");
  plan_.make = [](const Case&, const Sampling&) {
    class WrongTeam final : public Team {
      Measurement measure(const Case& point, const Sampling& /*sampling*/) override {
        Measurement measured = scripted_record("ring", 2, point.bytes, 1000).measurement;
        measured.wrong = 5;
        return measured;
      }
    };
    return std::make_unique<WrongTeam>();
  };
  EXPECT_EQ(run().summary.wrong, 1);
}

}  // namespace
}  // namespace collbench
