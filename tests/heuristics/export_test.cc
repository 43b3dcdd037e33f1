// Choices in the forms of other libraries: read back, compiled, and refused where a form cannot say
// them.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/core/refusal.h"
#include "tests/heuristics/ompi_rules_reader.h"

#include "core/error.h"
#include "core/json.h"
#include "heuristics/exports/export_rules.h"
#include "heuristics/exports/nccl_plugin/tuner_rules.h"
#include "heuristics/exports/ompi_rules.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

using namespace literals;
using testing::HasSubstr;

SelectionTable table_of(std::vector<SizeRule> rules) {
  SelectionTable table;
  table.policy = "model";
  table.machine = "two \"nodes\"";
  table.last = no_end;
  table.scales.push_back({8, 2, std::move(rules), {}});
  return table;
}

SelectionTable mpi_table() {
  SelectionTable table = table_of({{0_B, 4095_B, "recursive-doubling", ""},
                                   {4096_B, 1048575_B, "halving-doubling", ""},
                                   {1_MiB, no_end, "ring", ""}});
  table.scales.push_back({16, 4, {{0_B, no_end, "reduce-broadcast", ""}}, {}});
  return table;
}

TEST(SelectionTableTest, FindsCrossoversBetweenTheSizesItAsks) {
  const Machine star = machine("star:8,100Gbps,5us");
  Question question;
  question.workers = 8;
  question.machine = &star;
  question.available = {"recursive-doubling", "ring"};
  const ScaleRules scale = size_rules(find_policy("model"), question, 1_KiB, 1_GiB);
  ASSERT_EQ(scale.rules.size(), 2U);
  EXPECT_EQ(scale.rules[0].algorithm, "recursive-doubling");
  // 3 a + 3 m / B = 14 a + 14 m / (8 B): m = 11 a B / 1.25.
  const double crossover = 11 * 5e-6 * 12.5e9 / 1.25;
  EXPECT_NEAR(static_cast<double>(scale.rules[1].from.count), crossover, 0.03 * crossover);
  check_rules(scale);
  EXPECT_EQ(rule_for(scale, 1_B).algorithm, "recursive-doubling");
  EXPECT_EQ(rule_for(scale, Bytes{std::int64_t{1} << 50}).algorithm, "ring");
}

/// Rules of a form for all ranks of a machine.
ScaleRules rules_on(const Machine& network, const char* form, const char* policy = "auto") {
  Question question;
  question.workers = network.topology.hosts();
  question.nodes = network.topology.layout().dims.back();
  question.machine = &network;
  return rules_of_library(find_rule_format(form), find_policy(policy), question, 1_KiB, 1_GiB);
}

TEST(RulesOfLibraryTest, ThoseForNcclAreTheFastestThatItHas) {
  const Machine cluster = machine("cluster:8xdgx-h100");
  const ScaleRules scale = rules_on(cluster, "nccl-tuner");
  Question question;
  question.workers = 64;
  question.nodes = 8;
  question.machine = &cluster;
  for (const Bytes bytes : {4_KiB, 1_MiB, 18_MiB, 64_MiB}) {
    question.bytes = bytes;
    const Candidate fastest = inside_library(question)->fastest;
    const SizeRule& rule = rule_for(scale, bytes);
    EXPECT_EQ(rule.algorithm + rule.protocol, fastest.algorithm + fastest.protocol);
  }
  EXPECT_THAT(scale.warnings, testing::Contains(HasSubstr("fastest of what NCCL has")));
  const ScaleRules tuner = rules_on(cluster, "nccl-tuner", "nccl");
  EXPECT_NE(tuner.rules, scale.rules) << "what the tuner takes is not always the fastest";
}

TEST(RulesOfLibraryTest, ThoseOfLibrariesThatSendMessagesHaveNoProtocols) {
  const Machine cluster = machine("cluster:4xdgx-h100");
  for (const char* form : {"ompi", "ucc", "intel-mpi"}) {
    const ScaleRules scale = rules_on(cluster, form);
    for (std::size_t i = 0; i < scale.rules.size(); ++i) {
      EXPECT_EQ(scale.rules[i].protocol, "") << form;
      if (i > 0) EXPECT_NE(scale.rules[i].algorithm, scale.rules[i - 1].algorithm) << form;
    }
  }
  EXPECT_NE(rules_on(cluster, "json").rules.front().protocol, "");
}

TEST(SelectionTableTest, RulesWithGapsAreRefused) {
  ScaleRules scale{8, 1, {{0_B, 99_B, "ring", ""}, {101_B, no_end, "ring", ""}}, {}};
  EXPECT_THAT(refusal([&] { check_rules(scale); }), HasSubstr("begins at 101 where 100"));
  scale.rules = {{0_B, 99_B, "ring", ""}};
  EXPECT_THAT(refusal([&] { check_rules(scale); }), HasSubstr("must have no end"));
  scale.rules.clear();
  EXPECT_THAT(refusal([&] { check_rules(scale); }), HasSubstr("there are none"));
}

TEST(ExportTest, NcclTunerLinesAreReadBackAndLeaveChannelsToNccl) {
  const SelectionTable table =
      table_of({{0_B, 65535_B, "double-tree", "LL"}, {65536_B, no_end, "nvls-tree", "Simple"}});
  const auto rules = parse_tuner_rules(find_rule_format("nccl-tuner").write(table), "exported");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(to_string(rules[0]), "allreduce,0,65535,tree,ll,-1,2,8,-1,-1");
  EXPECT_EQ(to_string(rules[1]),
            "allreduce,65536,18446744073709551615,nvls_tree,simple,-1,2,8,-1,-1");
}

TEST(ExportTest, SizesThatWereNotAskedAreLeftToTheLibrary) {
  SelectionTable table = table_of({{0_B, 4095_B, "ring", "LL"}, {4096_B, no_end, "tree", "LL"}});
  table.first = 1_KiB;
  table.last = 1_MiB;
  const auto written = [&](const char* form) { return find_rule_format(form).write(table); };
  EXPECT_THAT(written("ompi"), HasSubstr("4 # sizes\n0 0 0 0 # as the library chooses\n1024 4 0 0 "
                                         "# ring\n4096 2 0 0 # nonoverlapping\n"
                                         "1048577 0 0 0 # as the library chooses\n"));
  EXPECT_EQ(written("intel-mpi"), "8:1024-4095@8-8;3:4096-1048576@8-8\n");
  table.scales.front().rules[1].algorithm = "double-tree";
  EXPECT_EQ(written("ucc"),
            "allreduce:1024-4096:[8-8]:inf:@ring#allreduce:4096-1048577:[8-8]:inf:@dbt\n");
  EXPECT_THAT(written("nccl-tuner"), HasSubstr("\nallreduce,1024,4095,ring,ll,-1,2,8,-1,-1\n"
                                               "allreduce,4096,1048576,tree,ll,-1,2,8,-1,-1\n"));
}

TEST(ExportTest, WhatAFormCannotSayIsRefusedByName) {
  const SelectionTable table = table_of({{0_B, no_end, "torus", "LL"}});
  for (const char* format : {"nccl-tuner", "ompi", "ucc", "intel-mpi"}) {
    EXPECT_THAT(refusal([&] { find_rule_format(format).write(table); }), HasSubstr("'torus'"))
        << format;
  }
  const SelectionTable other = table_of({{0_B, no_end, "ring", "Turbo"}});
  EXPECT_THAT(refusal([&] { find_rule_format("nccl-tuner").write(other); }),
              HasSubstr("'Turbo' is not a protocol"));
  EXPECT_THAT(refusal([] { find_rule_format("nccl-tuna"); }), HasSubstr("nccl-tuner"));
}

TEST(ExportTest, OpenMpiRulesAreReadBackAsTheyWere) {
  const SelectionTable table = mpi_table();
  const SelectionTable read = read_ompi_rules(find_rule_format("ompi").write(table), "rules");
  ASSERT_EQ(read.scales.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.scales[i].workers, table.scales[i].workers);
    EXPECT_EQ(read.scales[i].rules, table.scales[i].rules);
  }
}

TEST(ExportTest, BrokenOpenMpiRulesAreRefusedWithTheLine) {
  const auto refused = [](const char* text) {
    return refusal([&] { read_ompi_rules(text, "r"); });
  };
  EXPECT_THAT(refused("1\n2\n1\n8\n1\n0 99 0 0\n"), HasSubstr("r:6: an algorithm must be"));
  EXPECT_THAT(refused("x 3 0 0"), HasSubstr("r:1:"));
  EXPECT_THAT(refused("1\n2\n1\n8\n1\n5 4 0 0\n"), HasSubstr("r:6: the first size must be 0"));
  EXPECT_THAT(refused("1\n2\n1\n8\n2\n0 4 0 0\n"), HasSubstr("the file ends where a size"));
  EXPECT_THAT(refused("1\n2\n2\n8\n1\n0 4 0 0\n8\n1\n0 4 0 0\n"), HasSubstr("must ascend"));
  EXPECT_THAT(refused("1 2 1 8 1 0 4 0 0 7"), HasSubstr("nothing may follow"));
  EXPECT_EQ(refused("1 # one\n2 1 8 1 0 4 0 0 # end"), "");
}

TEST(ExportTest, UccAndIntelStringsNameSizesAndTeams) {
  SelectionTable table = mpi_table();
  table.scales.pop_back();
  EXPECT_EQ(find_rule_format("ucc").write(table),
            "allreduce:0-4096:[8-8]:inf:@knomial#allreduce:4096-1048576:[8-8]:inf:@sra_knomial#"
            "allreduce:1048576-inf:[8-8]:inf:@ring\n");
  EXPECT_EQ(find_rule_format("intel-mpi").write(table),
            "1:0-4095@8-8;2:4096-1048575@8-8;8:1048576-2147483647@8-8\n");
  EXPECT_THAT(needs_of(find_rule_format("ucc"), table),
              testing::ElementsAre(HasSubstr("rules of ring need UCC 1.8 or later")));
  EXPECT_THAT(needs_of(find_rule_format("intel-mpi"), table), testing::IsEmpty());
}

TEST(ExportTest, JsonHoldsEveryRule) {
  const auto json = parse_json<nlohmann::json>(export_json(mpi_table()));
  EXPECT_EQ(json["machine"], "two \"nodes\"");
  EXPECT_EQ(json["scales"][0]["rules"][1]["from_bytes"], 4096);
  EXPECT_EQ(json["scales"][0]["rules"][1]["to_bytes"], 1048575);
  EXPECT_EQ(json["scales"][1]["rules"][0]["algorithm"], "reduce-broadcast");
}

TEST(ExportTest, TheHeaderCompilesAndLooksUp) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("collbench-export-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  SelectionTable table = mpi_table();
  table.scales.push_back({4, 1, {{0_B, no_end, "tree", ""}}, {}});
  std::ofstream(folder / "rules.h") << export_cpp(table);
  std::ofstream(folder / "main.cc") << R"(#include "rules.h"
#include <string_view>
using collbench_rules::choose;
constexpr std::string_view name(int workers, std::uint64_t bytes) {
  return choose(workers, bytes).algorithm;
}
static_assert(name(8, 0) == "recursive-doubling");
static_assert(name(8, 4095) == "recursive-doubling");
static_assert(name(8, 4096) == "halving-doubling");
static_assert(name(12, 1u << 30) == "ring");
static_assert(name(64, 5) == "reduce-broadcast");
static_assert(name(2, 5) == "recursive-doubling");
static_assert(name(4, 5) == "tree");  // listed last
int main() {}
)";
  const std::string command = std::string(COLLBENCH_CXX) +
                              " -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only " +
                              (folder / "main.cc").string();
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(folder);
}

TEST(ExportTest, WhatAFormOffersItCanWrite) {
  for (const RuleFormat& format : rule_formats()) {
    for (const std::string& algorithm : format.offered) {
      const SelectionTable table = table_of({{0_B, no_end, algorithm, "Simple"}});
      EXPECT_FALSE(format.write(table).empty()) << format.name << ' ' << algorithm;
    }
    EXPECT_THAT(refusal([&] {
                  format.write(table_of({{1_B, no_end, "ring", "LL"}}));
                }),
                HasSubstr("where 0 is next"))
        << format.name << ": rules are checked before they are written";
  }
}

TEST(ExportTest, KernelsOfNvlsHaveOneProtocol) {
  const SelectionTable table =
      table_of({{0_B, 99_B, "nvls", ""}, {100_B, no_end, "tf-ring", "LL"}});
  const auto rules = parse_tuner_rules(find_rule_format("nccl-tuner").write(table), "exported");
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0].algorithm, 4);
  EXPECT_EQ(rules[0].protocol, 2);
  EXPECT_EQ(rules[1].algorithm, 1) << "TensorFlow's ring is a ring";
  EXPECT_EQ(rules[1].protocol, 0);
  EXPECT_THAT(refusal([] {
                find_rule_format("nccl-tuner").write(table_of({{0_B, no_end, "pat", "Simple"}}));
              }),
              HasSubstr("NCCL has no such algorithm"));
}

TEST(ExportTest, WhatNcclsFileCannotNameIsLeftToRccl) {
  const SelectionTable table = table_of({{0_B, 99_B, "all-pairs", "LL"},
                                         {100_B, 199_B, "ring", "LL"},
                                         {200_B, no_end, "all-pairs", "Simple"}});
  const std::string text = find_rule_format("nccl-tuner").write(table);
  EXPECT_THAT(text, HasSubstr("\n# from 0 bytes, 8 ranks: no rule; RCCL takes all-pairs by itself\n"
                              "allreduce,100,199,ring,ll,"));
  const auto rules = parse_tuner_rules(text, "exported");
  ASSERT_EQ(rules.size(), 1U);
  EXPECT_EQ(find_rule(rules, {.collective = 4, .bytes = 99, .nodes = 2, .ranks = 8}), nullptr);
  EXPECT_EQ(find_rule(rules, {.collective = 4, .bytes = 200, .nodes = 2, .ranks = 8}), nullptr);
}

TEST(ExportTest, RulesOfNcclNeedAProtocol) {
  const std::string refused = refusal([] {
    find_rule_format("nccl-tuner").write(table_of({{0_B, no_end, "ring", ""}}));
  });
  EXPECT_THAT(refused, HasSubstr("policy model names none on two \"nodes\""));
  EXPECT_THAT(refused, HasSubstr("such as dgx-h100"));
  EXPECT_THAT(refusal([] {
                find_rule_format("nccl-tuner").write(table_of({{0_B, no_end, "ring", "L"}}));
              }),
              HasSubstr("'L' is not a protocol of NCCL; it has LL, LL128 and Simple"));
}

TEST(ExportTest, SizesBeyondWhatIntelCanNameAreLeftOut) {
  const SelectionTable table = table_of({{0_B, Bytes{(std::int64_t{1} << 31) - 1}, "ring", ""},
                                         {Bytes{std::int64_t{1} << 31}, no_end, "tree", ""}});
  EXPECT_EQ(find_rule_format("intel-mpi").write(table), "8:0-2147483647@8-8\n");
}

TEST(ExportTest, OpenMpiNeedsNumbersOfRanksThatAscend) {
  SelectionTable table = mpi_table();
  std::swap(table.scales[0], table.scales[1]);
  EXPECT_THAT(refusal([&] { find_rule_format("ompi").write(table); }), HasSubstr("must ascend"));
}

TEST(ExportTest, TextInTheHeaderIsQuoted) {
  SelectionTable table = mpi_table();
  table.machine = "a \"b\" \\ c\n";
  EXPECT_THAT(export_cpp(table), HasSubstr("\"a \\\"b\\\" \\\\ c?\""));
}

TEST(ExportTest, OpenMpisOwnAlgorithmsHaveTheirNumbers) {
  const auto rule = [](std::string_view algorithm) {
    const std::optional<OmpiRule> found = ompi_rule_of(algorithm);
    return found ? std::pair<int, std::int64_t>{found->number, found->segment}
                 : std::pair<int, std::int64_t>{-1, -1};
  };
  using Rule = std::pair<int, std::int64_t>;
  EXPECT_EQ(rule("mpi"), Rule(0, 0));  // what it chooses itself
  EXPECT_EQ(rule("mpi:linear"), Rule(1, 0));
  EXPECT_EQ(rule("mpi:nonoverlapping"), Rule(2, 0));
  EXPECT_EQ(rule("mpi:recursive-doubling"), Rule(3, 0));
  EXPECT_EQ(rule("mpi:ring"), Rule(4, 0));
  EXPECT_EQ(rule("mpi:segmented-ring"), Rule(5, 131072));
  EXPECT_EQ(rule("mpi:segmented-ring:segment=64K"), Rule(5, 65536));
  EXPECT_EQ(rule("mpi:rabenseifner"), Rule(6, 0));
  for (const char* unknown : {"mpi:bruck", "mpi:", "mpi:ring:segment=64K", "mpich", "swing"}) {
    EXPECT_EQ(rule(unknown).first, -1) << unknown;
  }
}

TEST(ExportTest, OnlyOpenMpisSegmentedRingHasASegmentSize) {
  const std::string text =
      find_rule_format("ompi").write(table_of({{0_B, 0_B, "tf-ring", ""},
                                               {1_B, 99_B, "ring:segments=4", ""},
                                               {100_B, no_end, "tree", ""}}));
  EXPECT_THAT(text, HasSubstr("\n0 4 0 0 # ring\n1 5 0 131072 # segmented ring\n"
                              "100 2 0 0 # nonoverlapping\n"));
  // As Open MPI's fixed rules call them.
  EXPECT_THAT(find_rule_format("ompi").write(table_of(
                  {{0_B, 0_B, "nonoverlapping", ""}, {1_B, no_end, "segmented-ring", ""}})),
              HasSubstr("\n0 2 0 0 # nonoverlapping\n1 5 0 0 # segmented ring\n"));
}

}  // namespace
}  // namespace collbench
