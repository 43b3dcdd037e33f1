#include "transports/world/launch_sources.h"

#include <chrono>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "transports/world/launch.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;
using Variables = std::map<std::string, std::string>;

LaunchFacts facts_with(const Variables& variables) {
  LaunchFacts facts;
  facts.environment = [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  facts.host_name = [] { return "job-1.service.default.svc.cluster.local"; };
  return facts;
}

std::optional<LaunchedWorker> launched(const Variables& variables) {
  return launched_worker(facts_with(variables));
}

void refuses(const LaunchFacts& facts, const char* words) {
  EXPECT_THAT([&] { launched_worker(facts); }, ThrowsMessage<InvalidArgument>(HasSubstr(words)));
}

const Variables tf_config = {
    {"TF_CONFIG", R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"worker","index":1}})"}};
const Variables torchrun = {{"RANK", "2"},         {"WORLD_SIZE", "4"},
                            {"LOCAL_RANK", "0"},   {"LOCAL_WORLD_SIZE", "2"},
                            {"GROUP_RANK", "1"},   {"GROUP_WORLD_SIZE", "2"},
                            {"MASTER_ADDR", "n0"}, {"MASTER_PORT", "29500"}};
const Variables open_mpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_RANK", "1"},
                            {"PMIX_NAMESPACE", "12345"}};
const Variables pmi = {{"PMI_RANK", "1"},
                       {"PMI_SIZE", "2"},
                       {"MPI_LOCALRANKID", "1"},
                       {"MPI_LOCALNRANKS", "2"},
                       {"MASTER_PORT", "7100"}};
const Variables slurm = {{"SLURM_PROCID", "1"},
                         {"SLURM_STEP_NUM_TASKS", "2"},
                         {"SLURM_LOCALID", "0"},
                         {"SLURM_JOB_ID", "77"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_JOB_NODELIST", "node[01-07],other"},
                         {"SLURM_STEP_NODELIST", "node[03-07,11],other"}};
const Variables kubernetes = {{"JOB_COMPLETION_INDEX", "1"}, {"WORLD_SIZE", "2"}};
const Variables pmix = {
    {"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "x"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "n0"}};

Variables both(Variables one, const Variables& other) {
  one.insert(other.begin(), other.end());
  return one;
}

TEST(LaunchSourcesTest, NothingIsLaunchedWithoutVariables) {
  EXPECT_FALSE(launched({}));
  EXPECT_FALSE(launched({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})) << "a batch script";
  EXPECT_FALSE(launched({{"WORLD_SIZE", "2"}}));
  EXPECT_FALSE(launched({{"SLURM_STEP_NUM_TASKS", "2"}})) << "a step without a rank";
  EXPECT_FALSE(launched({{"TF_CONFIG", "{}"}}));
}

TEST(LaunchSourcesTest, OneRankOfMpirunIsAWorldOfItsOwn) {
  Variables alone = open_mpi;
  for (const char* rank : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"}) alone[rank] = "0";
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"}) alone[size] = "1";
  EXPECT_FALSE(launched(alone)) << "PMIx does not say of how many";
  EXPECT_FALSE(launched(both(alone, slurm))) << "the step is that of mpirun's daemons";
}

TEST(LaunchSourcesTest, EachSourceSaysRankSizeAndWhereTheOthersAre) {
  const auto expect = [](const Variables& variables, const char* source, int rank, int ranks,
                         const char* bootstrap) {
    const auto worker = launched(variables);
    ASSERT_TRUE(worker);
    EXPECT_EQ(worker->source, source);
    EXPECT_EQ(worker->rank, rank);
    EXPECT_EQ(worker->ranks, ranks);
    EXPECT_THAT(worker->bootstrap, StartsWith(bootstrap));
  };
  expect(tf_config, "TF_CONFIG", 1, 2, "a:1");
  expect(torchrun, "torchrun", 2, 4, "n0:29501");
  expect(open_mpi, "Open MPI", 1, 2, "127.0.0.1:");
  expect(pmi, "PMI", 1, 2, "127.0.0.1:7101");
  expect(slurm, "Slurm", 1, 2, "node03:");
  expect(kubernetes, "Kubernetes", 1, 2, "job-0.service.default.svc.cluster.local:7101");
  expect(pmix, "PMIx", 1, 2, "n0:");
}

TEST(LaunchSourcesTest, OptionsGoTogetherWithWhatALauncherSays) {
  LaunchFacts facts = facts_with(open_mpi);
  facts.hosts = {"a:1", "b:1"};
  auto worker = launched_worker(facts);
  EXPECT_EQ(worker->source, "Open MPI");
  EXPECT_EQ(worker->rank, 1);
  EXPECT_THAT(worker->hosts, ElementsAre("a:1", "b:1"));

  facts = facts_with({});
  facts.rank = 3;
  facts.workers = 4;
  facts.bootstrap = "[::1]:7101";
  worker = launched_worker(facts);
  EXPECT_EQ(worker->source, "--rank");
  EXPECT_EQ(worker->ranks, 4);
  EXPECT_EQ(worker->bootstrap, "[::1]:7101");
}

TEST(LaunchSourcesTest, AddressesOfIpv6StandInBracketsAtTheMeeting) {
  Variables variables = torchrun;
  variables["MASTER_ADDR"] = "fd00::5";
  EXPECT_EQ(launched(variables)->bootstrap, "[fd00::5]:29501");
}

TEST(LaunchSourcesTest, PodsOfAnIndexedJobKnowEachOtherByTheirService) {
  EXPECT_THAT(launched(kubernetes)->hosts,
              ElementsAre("job-0.service.default.svc.cluster.local:7101",
                          "job-1.service.default.svc.cluster.local:7101"));
  LaunchFacts facts = facts_with({{"JOB_COMPLETION_INDEX", "1"}});
  refuses(facts, "nothing says of how many: set WORLD_SIZE or --workers");
  facts.workers = 3;
  EXPECT_EQ(launched_worker(facts)->ranks, 3);
  facts.host_name = [] { return "job-1"; };
  refuses(facts, "give the pods a headless service as their subdomain");
  EXPECT_EQ(launched(both(kubernetes, {{"MASTER_ADDR", "m"}, {"MASTER_PORT", "1"}}))->bootstrap,
            "m:2");
}

TEST(LaunchSourcesTest, RanksOfOneJobMeetAtOnePortAndOtherJobsAtAnother) {
  Variables other = slurm;
  other["SLURM_PROCID"] = "0";
  EXPECT_EQ(launched(slurm)->bootstrap, launched(other)->bootstrap);
  other["SLURM_JOB_ID"] = "78";
  EXPECT_NE(launched(slurm)->bootstrap, launched(other)->bootstrap);
}

TEST(LaunchSourcesTest, ALauncherThatStartsAnotherIsNoContradictionOtherDifferencesAre) {
  EXPECT_EQ(launched(both(torchrun, slurm))->source, "torchrun");
  EXPECT_EQ(launched(both(torchrun, {{"JOB_COMPLETION_INDEX", "1"}}))->rank, 2);
  Variables wrong = both(torchrun, slurm);
  wrong["GROUP_RANK"] = "0";
  refuses(facts_with(wrong),
          "torchrun says rank 2 of 4, Slurm says rank 1 of 2; unset the variables of");
  wrong = both(open_mpi, slurm);
  wrong["SLURM_STEP_NUM_TASKS"] = "3";
  EXPECT_EQ(launched(wrong)->source, "Open MPI") << "the step is that of mpirun's daemons";
  wrong = open_mpi;
  wrong["PMIX_RANK"] = "0";
  refuses(facts_with(wrong), "Open MPI says rank 1 of 2, PMIx says rank 0");
  EXPECT_EQ(launched(both(open_mpi, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}))->rank,
            1)
      << "srun started one shell";
}

TEST(LaunchSourcesTest, MpirunWithinSlurmMeetsOnTheFirstNodeOfTheJob) {
  Variables variables = both(open_mpi, slurm);
  variables.erase("OMPI_COMM_WORLD_LOCAL_SIZE");
  EXPECT_THAT(launched(variables)->bootstrap, StartsWith("node01:"));
}

TEST(LaunchSourcesTest, OptionsThatContradictALauncherAreNamedWithIt) {
  LaunchFacts facts = facts_with(open_mpi);
  facts.rank = 0;
  refuses(facts, "--rank says rank 0, Open MPI says rank 1 of 2");
  facts.rank.reset();
  facts.hosts = {"a:1", "b:1", "c:1"};
  refuses(facts, "--hosts says 3 workers, Open MPI says rank 1 of 2");
  facts = facts_with(tf_config);
  facts.hosts = {"a:1", "c:2"};
  refuses(facts, "--hosts has rank 1 at c:2, TF_CONFIG has it at b:2");
  facts = facts_with(tf_config);
  facts.bootstrap = "a:1";
  refuses(facts, "--meet is for workers whose addresses nothing names");
  facts = facts_with(kubernetes);
  facts.workers = 3;
  refuses(facts, "--workers says 3 workers, WORLD_SIZE says 2 workers");
}

TEST(LaunchSourcesTest, ParameterServersAreTheLastRanksOfTheirCluster) {
  const std::string cluster =
      R"({"cluster":{"chief":["a:1"],"worker":["b:1","c:1"],"ps":["d:1"]},)";
  LaunchFacts facts = facts_with({{"TF_CONFIG", cluster + R"("task":{"type":"ps","index":0}})"}});
  EXPECT_EQ(launched_rank(facts)->rank, 3);
  facts.with_servers = true;
  const auto worker = launched_worker(facts);
  EXPECT_EQ(worker->rank, 3);
  EXPECT_EQ(worker->workers(), 2);
  EXPECT_EQ(worker->servers, 1);
  EXPECT_THAT(worker->hosts, ElementsAre("a:1", "b:1", "c:1", "d:1"));
  facts.rank = 0;
  refuses(facts, "--rank says rank 0, TF_CONFIG says rank 3 of 4");
  facts.with_servers = false;
  refuses(facts, "TF_CONFIG: Unexpected `task_type` 'ps'");
  facts = facts_with(tf_config);
  facts.with_servers = true;
  refuses(facts, "There must be at least one ps.");
  facts = facts_with(torchrun);
  facts.with_servers = true;
  refuses(facts, "torchrun says rank 2 of 4, but only TF_CONFIG says which processes are chief");
}

TEST(LaunchSourcesTest, OneLauncherCanBeChosenOrNone) {
  LaunchFacts facts = facts_with(both(open_mpi, tf_config));
  facts.launcher = "open-mpi";
  EXPECT_EQ(launched_worker(facts)->source, "Open MPI");
  facts.launcher = "none";
  EXPECT_FALSE(launched_worker(facts));
  facts.launcher = "slurm";
  refuses(facts, "--launcher slurm: SLURM_PROCID is not set");
  facts.launcher = "slrum";
  refuses(facts, "Did you mean 'slurm'?");
}

TEST(LaunchSourcesTest, RefusesHalfAndWrongVariables) {
  refuses(facts_with({{"RANK", "0"}}), "RANK is set, but WORLD_SIZE is not");
  refuses(facts_with({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
          "RANK must be a whole number from 0 to 1, not '2'");
  refuses(facts_with({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), "not 'x'");
  refuses(facts_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}}), "set MASTER_ADDR");
  refuses(facts_with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}}),
          "set MASTER_PORT");
  LaunchFacts facts = facts_with({});
  facts.rank = 1;
  refuses(facts, "--rank needs --hosts");
  facts.hosts = {"a:1"};
  refuses(facts, "--rank must be at most 0 (got 1)");
  facts.rank.reset();
  refuses(facts, "--hosts needs --rank");
}

TEST(LaunchSourcesTest, AnEvaluatorIsOutsideTheCluster) {
  const auto worker =
      launched({{"TF_CONFIG",
                 R"({"cluster":{"worker":["a:1","b:2"]},"task":{"type":"evaluator","index":0}})"}});
  EXPECT_TRUE(worker->evaluator);
  EXPECT_EQ(worker->workers(), 2) << "those of the cluster";
  const auto beside_one = launched(
      {{"TF_CONFIG", R"({"cluster":{"worker":["a:1"]},"task":{"type":"evaluator","index":0}})"}});
  ASSERT_TRUE(beside_one.has_value());
  EXPECT_TRUE(beside_one->evaluator);
}

TEST(LaunchPatienceTest, AHungConnectionEndsAfterASignalOnceAnotherWorkerHas) {
  for (const int code : {3, 143}) {
    LaunchPlan plan;
    plan.hosts = parse_launch_hosts("quick,hung");
    plan.ssh = {"sh", "-c",
                "[ $0 = hung ] && exec sleep 60; sleep 0.3; exit " + std::to_string(code)};
    plan.program = "collbench";
    plan.arguments = {"run"};
    plan.patience = Seconds{0.2};
    const auto begin = std::chrono::steady_clock::now();
    const LaunchEnd end = launch(
        plan, {[](Rank, bool, const std::string&) {}, [] { return std::string("SIGTERM"); }});
    EXPECT_EQ(end.code, code);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  }
}

}  // namespace
}  // namespace collbench
