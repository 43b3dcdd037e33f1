// `collbench select`: what it answers, in which forms, and how it refuses.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class SelectTest : public testing::Test {
 protected:
  CommandOutcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "select");
    return invoke(folder_, arguments);
  }
  std::string out(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string refused(const std::vector<std::string>& arguments) {
    const CommandOutcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  }
  RunFolder folder_;
};

TEST_F(SelectTest, AnswersWithTheChoiceTheReasonAndEveryCandidate) {
  const std::string text = out({"-t", "star:8,100Gbps,5us", "-W", "8", "-b", "1M", "--explain"});
  EXPECT_THAT(text, StartsWith("auto: "));
  EXPECT_THAT(text, HasSubstr("because predicted: "));
  for (const char* part : {"ring", "halving-doubling", "latency", "bandwidth", "expected"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST_F(SelectTest, TakesTheWholeMachineIfNoNumberOfWorkersIsNamed) {
  EXPECT_THAT(out({"-t", "cluster:2xdgx-h100"}), HasSubstr("16 workers on cluster:2xdgx-h100"));
  EXPECT_THAT(out({"-t", "ethernet-100g"}), HasSubstr(" 8 workers on ethernet-100g"));
}

TEST_F(SelectTest, NodesAreThoseOfTheMachine) {
  EXPECT_THAT(refused({"-t", "dgx-h100", "-W", "4", "--nodes", "2"}),
              HasSubstr("--nodes: dgx-h100 is one node; 2 of them are cluster:2xdgx-h100"));
  EXPECT_EQ(run({"-t", "cluster:2xdgx-h100", "-W", "4", "--nodes", "2"}).code, 0);
  EXPECT_THAT(run({"-t", "cluster:2xdgx-h100", "-W", "12"}).err, HasSubstr("6 on each of 2 nodes"));
}

TEST_F(SelectTest, TimesOfThisHostAreNotThoseOfAnotherMachine) {
  ASSERT_EQ(invoke(folder_, {"run", "-B", "shm", "-W", "2", "-A", "ring,direct", "-b", "1K", "-e",
                             "4K", "--max-time", "0.01", "-q", "-J", "mine.json"})
                .code,
            0);
  for (const char* other : {"star:2,10Gbps,5us", "dgx-h100"}) {
    EXPECT_THAT(refused({"-t", other, "-W", "2", "--measured", "mine.json", "-b", "2K"}),
                HasSubstr("leave --topo out and name the back end (--backend shm)"));
  }
  EXPECT_THAT(out({"-B", "shm", "-W", "2", "--measured", "mine.json", "-b", "2K"}),
              HasSubstr("because measured"));
}

TEST_F(SelectTest, NamesThatNothingIsKnownOfAreSaid) {
  const std::string text =
      out({"-t", "star:8,100Gbps,5us", "-b", "1M", "--available", "ring,rign"});
  EXPECT_THAT(text, HasSubstr("note: nothing is known of 'rign', which is named as available"));
  EXPECT_THAT(out({"-t", "mesh:3x3,10GBps,1us", "-b", "1G", "--available", "ring,synth"}),
              HasSubstr("auto: synth for 1 GiB"));
  EXPECT_THAT(refused({"-t", "star:8,100Gbps,5us", "--available", "rign"}),
              HasSubstr("nothing is known of 'rign'"));
  EXPECT_THAT(refused({"-t", "star:8,100Gbps,5us", "--table", "--json"}),
              HasSubstr("--table is text"));
}

// Played, synth takes 301 us and ring:channels=8 294.
TEST_F(SelectTest, ALeadThatPredictionMayMissIsDoubted) {
  EXPECT_THAT(out({"-t", "cluster:4xdgx-h100", "-b", "48M"}),
              HasSubstr("and ring:channels=8:node=8/LL128 may be faster: simulate -A auto"));
  EXPECT_THAT(out({"-t", "mesh:3x3,10GBps,1us", "-b", "1G"}), Not(HasSubstr("may be faster")));
}

TEST_F(SelectTest, TablesShowTheCrossovers) {
  const std::string text = out({"-t", "star:8,100Gbps,5us", "-W", "8", "--table", "-p", "model",
                                "--available", "recursive-doubling,ring"});
  EXPECT_THAT(text, HasSubstr("from 0  recursive-doubling\n"));
  EXPECT_THAT(text, HasSubstr("KiB  ring\n"));
}

TEST_F(SelectTest, JsonIsReadByOthers) {
  const auto json = parse_json<nlohmann::json>(
      out({"-t", "star:8,100Gbps,5us", "-W", "8", "-p", "ompi,tf2", "--format", "json"}));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["algorithm"], "halving-doubling");
  EXPECT_EQ(json[1]["algorithm"], "tf-ring");
  const auto some = parse_json<nlohmann::json>(
      out({"-t", "star:8,100Gbps,5us", "-W", "8", "-p", "model,measured", "--json"}));
  ASSERT_EQ(some.size(), 2U);
  EXPECT_TRUE(some[0].contains("algorithm"));
  EXPECT_EQ(some[1]["policy"], "measured");
  EXPECT_THAT(some[1]["error"].get<std::string>(), HasSubstr("nothing is measured"));
}

TEST_F(SelectTest, MeasuredTimesComeBeforeTheModelAndEveryPolicyMayBeAsked) {
  folder_.write("times.csv",
                "system,library,algorithm,ranks,nodes,bytes,time_us\n"
                "here,ours,ring,4,4,65536,60\nhere,ours,tree,4,4,65536,70\n");
  const std::vector<std::string> asked = {
      "-t",  "star:4,100Gbps,5us", "-W",       "4", "--nodes", "4", "-b",
      "64K", "--measured",         "times.csv"};
  EXPECT_THAT(out(asked),
              StartsWith("auto: ring for 64 KiB f32 sum, 4 workers on star:4,100Gbps,5us\n"
                         "because measured: ring with 60 us is 16.7 % ahead of tree with 70 us\n"));
  std::vector<std::string> all = asked;
  all.insert(all.end(), {"-p", "all"});
  const std::string text = out(all);
  for (const char* answer :
       {"\nmodel: ", "\nmeasured: ring ", "\noracle: ring ", "\nompi: ", "\ntf2: "}) {
    EXPECT_THAT(text, HasSubstr(answer));
  }
  // What a policy lacks is said in its place.
  const std::string bare = out({"-W", "4", "-b", "1K", "-p", "all"});
  EXPECT_THAT(bare, HasSubstr("model: no answer: the model needs a machine: name one (--topo)\n"));
  EXPECT_THAT(bare, HasSubstr("measured: no answer: nothing is measured"));
  EXPECT_THAT(bare, HasSubstr("\nompi: "));
  folder_.write("heading.csv", "ranks,bytes,avg_us\n");
  EXPECT_THAT(refused({"-W", "4", "-b", "1K", "--measured", "heading.csv"}),
              HasSubstr("heading.csv: a heading without rows"));
}

TEST_F(SelectTest, SeveralTablesAreReadTogetherAndAutoOfOursIsLeftOut) {
  const std::string heading = "system,library,algorithm,ranks,nodes,bytes,time_us\n";
  folder_.write("a.csv", heading + "here,shm,ring,4,1,65536,60\nhere,shm,auto,4,1,65536,10\n");
  folder_.write("b.csv", "library,algorithm,ranks,bytes,time_us\nshm,tree,4,65536,50\n");
  folder_.write("osu.csv", heading + "there,mpi,auto,4,1,65536,60\n");
  const CommandOutcome both =
      run({"-W", "4", "-b", "64K", "--measured", "a.csv,b.csv,system=here,nodes=1"});
  EXPECT_THAT(both.out, StartsWith("auto: tree for 64 KiB f32 sum, 4 workers"));
  EXPECT_THAT(both.out, HasSubstr("tree with 50 us is 20 % ahead of ring"));
  EXPECT_THAT(out({"-W", "4", "-b", "64K", "--measured", "osu.csv"}),
              StartsWith("auto: auto for 64 KiB"))
      << "the library's own choice";
  EXPECT_EQ(both.err, "collbench: 1 row left out: of auto, which is what is asked\n");
}

TEST_F(SelectTest, MoreWorkersThanTheNodesSeatAreRefused) {
  EXPECT_THAT(refused({"-t", "cluster:4xdgx-h100", "-W", "32", "--nodes", "2", "-p", "nccl"}),
              HasSubstr("--nodes: 32 workers on 2 nodes are 16 on each; the machine has 4 nodes "
                        "of 8"));
  EXPECT_THAT(out({"-t", "cluster:4xdgx-h100", "-W", "8", "--nodes", "4"}),
              HasSubstr("hierarchical:dims=2x4"));
}

TEST_F(SelectTest, GraphsThatNcclWroteStandForTheNetwork) {
  const std::string graphs = COLLBENCH_SOURCE_DIR "/tests/fuzz/corpus/nccl_graphs/two.xml";
  const CommandOutcome alone = run({"--nccl-graphs", graphs, "-W", "8", "-b", "1M", "-p", "nccl"});
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("8 workers on a network that is not named\n"));
  EXPECT_THAT(alone.out, HasSubstr("graphs of " + graphs));
  EXPECT_THAT(alone.err, HasSubstr("the graphs are taken for those of H100 and Intel CPUs"));
  const CommandOutcome with =
      run({"--nccl-graphs", graphs, "-W", "8", "-b", "1M", "-p", "nccl", "-t", "dgx-h100"});
  EXPECT_THAT(with.out, HasSubstr("8 workers on dgx-h100\n"));
  EXPECT_EQ(with.err, "");
  EXPECT_EQ(run({"--nccl-graphs", "missing.xml", "-W", "8", "-p", "nccl"}).code, 4);
}

// Four DGX H100, and InfiniBand switches that add.
TEST_F(SelectTest, GraphsOfCollNetCountWhereTheMachinesSwitchesAdd) {
  folder_.write("g.xml", R"(<graphs version="1">
    <graph id="0" pattern="4" nchannels="8" speedintra="48" typeinter="PXN"/>
    <graph id="1" pattern="1" nchannels="8" speedintra="60" speedinter="48" typeinter="PXN"/>
    <graph id="2" pattern="3" nchannels="8" speedintra="48"/>
    <graph id="3" pattern="5" nchannels="8" speedintra="45"/>
    <graph id="4" pattern="6" nchannels="8" speedintra="48"/></graphs>)");
  std::ifstream shipped(COLLBENCH_SOURCE_DIR "/topologies/dgx-h100.toml");
  std::string node(std::istreambuf_iterator<char>(shipped), {});
  const auto asked = [&](const std::string& machine) {
    return out({"-t", "cluster:4x" + machine, "-W", "32", "-b", "4M", "-p", "nccl",  //
                "--nccl-graphs", "g.xml"});
  };
  EXPECT_THAT(asked("dgx-h100"), Not(HasSubstr("collnet")));
  node.replace(node.find("[gpus]"), 6, "[gpus]\nsharp = true");
  folder_.write("sharp.toml", node);
  EXPECT_THAT(asked("sharp.toml"), StartsWith("nccl: nvls, Simple"));
  EXPECT_THAT(asked("sharp.toml"), HasSubstr("collnet-direct"));
}

TEST_F(SelectTest, ExportsHoldRulesForEveryNumberOfWorkers) {
  const std::string text =
      out({"-t", "cluster:2xdgx-h100", "-W", "8,16", "-p", "nccl", "--export", "nccl-tuner"});
  EXPECT_THAT(text, HasSubstr("allreduce,1024,"));
  EXPECT_THAT(text, HasSubstr(",-1,1,8,-1,-1\n"));
  EXPECT_THAT(text, HasSubstr(",-1,2,16,-1,-1\n"));
}

TEST_F(SelectTest, ExportsLeaveRcclItsAllPairsAndOpenMpiItsSegmentedRing) {
  for (const char* policy : {"nccl", "model"}) {
    const CommandOutcome rccl =
        run({"-t", "mi300x", "-W", "8", "-p", policy, "--export", "nccl-tuner"});
    EXPECT_EQ(rccl.code, 0) << rccl.err;
    const bool is_ours = policy == std::string("model");
    EXPECT_EQ(rccl.err.find("the fastest of what NCCL has") != std::string::npos, is_ours);
    EXPECT_THAT(rccl.out, HasSubstr("# from 1024 bytes, 8 ranks: no rule; RCCL takes all-pairs"));
    EXPECT_THAT(rccl.out, testing::Not(HasSubstr("allreduce,1024,")));
    EXPECT_THAT(rccl.out, HasSubstr(",1073741824,"));
  }
  const CommandOutcome ompi =
      run({"-t", "ethernet-10g", "-W", "2,128", "-p", "ompi", "--export", "ompi", "-b", "4"});
  EXPECT_EQ(ompi.code, 0) << ompi.err;
  EXPECT_EQ(ompi.err, "");
  EXPECT_THAT(ompi.out, HasSubstr(" 5 0 0 # segmented ring\n"));
  EXPECT_THAT(ompi.out, HasSubstr("128 # ranks\n5 # sizes\n0 0 0 0 # as the library chooses\n"
                                  "4 2 0 0 # nonoverlapping\n"));
}

TEST_F(SelectTest, ChoosesForAnElementOrMore) {
  const auto exported = [&](const char* from) {
    return run({"-t", "star:8,100Gbps,5us", "-W", "8", "-p", "model", "--export", "intel-mpi", "-b",
                from, "-e", "1M"});
  };
  EXPECT_EQ(exported("1").out, exported("4").out);
  EXPECT_EQ(exported("1").code, 0);
  EXPECT_THAT(refused({"-t", "star:8,100Gbps,5us", "-W", "8", "-b", "2"}),
              HasSubstr("2 B is less than an element of f32, which has 4 B"));
  EXPECT_EQ(run({"-t", "star:8,100Gbps,5us", "-W", "8", "-b", "2", "-d", "f16"}).code, 0);
}

TEST_F(SelectTest, WhatIsMissingOrWrongIsSaid) {
  EXPECT_THAT(refused({"-t", "star:4,10Gbps,5us", "-W", "4", "--export", "nccl-tuner"}),
              HasSubstr("policy auto names none on star:4,10Gbps,5us; name a machine of GPUs"));
  EXPECT_THAT(refused({"-W", "8"}), HasSubstr("name a machine (--topo)"));
  EXPECT_THAT(refused({"-p", "modell"}), HasSubstr("Did you mean 'model'?"));
  EXPECT_THAT(refused({"-B", "shm", "-t", "ethernet-100g"}), HasSubstr("choose one of --backend"));
  EXPECT_THAT(refused({"-t", "ethernet-100g", "--export", "nccl"}),
              HasSubstr("unknown export 'nccl'"));
  EXPECT_THAT(refused({"-t", "ethernet-100g", "--format", "xml"}), HasSubstr("'xml'"));
  const CommandOutcome ucc =
      run({"-t", "ethernet-100g", "-W", "8", "--available", "ring", "--export", "ucc"});
  EXPECT_EQ(ucc.out, "allreduce:1024-1073741825:[8-8]:inf:@ring\n");
  EXPECT_THAT(ucc.err, HasSubstr("rules of ring need UCC 1.8 or later"));
  EXPECT_THAT(refused({"-t", "ethernet-100g", "--devices", "gpu"}),
              HasSubstr("Did you mean 'gpus'?"));
}

TEST_F(SelectTest, SharesOfChosenSizesArePricedAsTheyAre) {
  const auto microseconds = [&](const std::string& counts, const std::string& algorithm) {
    const auto json =
        parse_json<nlohmann::json>(out({"-t", "star:4,100Gbps,5us", "--collective", "all-gather",
                                        "--counts", counts, "--available", algorithm, "--json"}));
    EXPECT_EQ(json["workers"], 4);
    EXPECT_EQ(json["bytes"], 64 << 20);
    EXPECT_EQ(json["counts"].size(), 4U);
    return json["candidates"][0]["expected_us"].get<double>();
  };
  const double equal = microseconds("4M,4M,4M,4M", "ring");
  EXPECT_NEAR(equal, 4041.5, 1);  // 48 MiB through 12.5 GB/s, and three hops
  // The largest share is passed on three times.
  EXPECT_NEAR(microseconds("14M,1M,1M,0", "ring"), 14 / 4.0 * equal, 60);
  EXPECT_THAT(
      out({"-t", "star:4,100Gbps,5us", "--collective", "all-gather", "--counts", "14M,1M,1M,0"}),
      HasSubstr("64 MiB f32 in 14680064, 1048576, 1048576, 0, 4 workers"));
}

TEST_F(SelectTest, SharesThatNobodyMeasuredOrThatDoNotFitAreSaid) {
  EXPECT_THAT(out({"-B", "shm", "--collective", "all-gather", "--counts", "4M,1M,0,1M"}),
              HasSubstr("note: the choice is that of equal shares"));
  const std::vector<std::string> asked = {"-t", "star:4,100Gbps,5us", "--counts", "4M,1M,0,1M"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), asked.begin(), asked.end());
    return refused(more);
  };
  EXPECT_THAT(with({}), HasSubstr("all-reduce has none"));
  EXPECT_THAT(with({"--collective", "all-gather", "-b", "1M"}), HasSubstr("leave --minbytes out"));
  EXPECT_THAT(with({"--collective", "all-gather", "--table"}), HasSubstr("leave --table out"));
  EXPECT_THAT(with({"--collective", "all-gather", "-W", "3"}), HasSubstr("shares are for 3 ranks"));
}

// What cannot be tuned here is named with what it lacks.
TEST_F(SelectTest, TuneSaysWhatALibraryLacks) {
  const CommandOutcome none = invoke(folder_, {"tune", "--library", "mvapich"});
  EXPECT_EQ(none.code, 4);
  EXPECT_THAT(none.err, HasSubstr("-DCOLLBENCH_MPI=openmpi or mpich"));
  const CommandOutcome gpus = invoke(folder_, {"tune", "--library", "nccl"});
  EXPECT_EQ(gpus.code, 4);
  EXPECT_THAT(gpus.err, HasSubstr("'select --export'"));
}

}  // namespace
}  // namespace collbench
