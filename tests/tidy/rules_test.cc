// Plants a violation of every rule, and the innocent text that looks like one.
#include "tests/tidy/rules.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench::tidy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Complaints complaints(std::string_view rule, const std::string& path, const std::string& text) {
  const auto found = std::find_if(rules().begin(), rules().end(),
                                  [&](const Rule& candidate) { return candidate.name == rule; });
  if (found == rules().end()) return {"there is no rule " + std::string(rule)};
  return found->check({path, text});
}

TEST(FloorsTest, CatchesAnIncludeThatPointsUpwards) {
  EXPECT_THAT(complaints("floors", "core/units.cc", "\n#include \"algorithms/schedule.h\"\n"),
              ElementsAre("core/units.cc:2: core may not include algorithms/schedule.h"));
  EXPECT_THAT(complaints("floors", "algorithms/ring.cc", "#include \"topologies/topology.h\"\n"),
              ElementsAre(HasSubstr("algorithms may not include")));
  EXPECT_THAT(complaints("floors", "bench/records/case.h", "  #  include \"cli/run.h\"  // why\n"),
              ElementsAre(HasSubstr("bench may not include cli/run.h")));
  EXPECT_THAT(complaints("floors", "transports/shm.cc", "#include \"simulator/engine.h\"\n"),
              ElementsAre(HasSubstr("transports may not include")));
}

TEST(FloorsTest, CatchesAnIncludeThatIsNotRootedAtTheRepository) {
  EXPECT_THAT(complaints("floors", "core/units.cc", "#include \"units.h\"\n"),
              ElementsAre(HasSubstr("does not start with one of our folders")));
  EXPECT_THAT(complaints("floors", "core/units.cc", "#include \"../core/units.h\"\n"),
              ElementsAre(HasSubstr("does not start with one of our folders")));
  EXPECT_THAT(complaints("floors", "core/units.cc", "#include \"tests/tidy/rules.h\"\n"),
              ElementsAre(HasSubstr("does not start with one of our folders")));
}

TEST(FloorsTest, ShowsTheSimulatorOnlyTheMachineOfTransports) {
  EXPECT_THAT(
      complaints("floors", "simulator/actor.cc", "#include \"transports/play/execute.h\"\n"),
      IsEmpty());
  EXPECT_THAT(complaints("floors", "simulator/actor.cc", "#include \"transports/shm.h\"\n"),
              ElementsAre(HasSubstr("simulator may not include transports/shm.h")));
}

TEST(SubfoldersTest, CatchesAnIncludeThatPointsUpwardsWithinAFloor) {
  EXPECT_THAT(complaints("subfolders", "transports/play/plan.cc",
                         "#include \"transports/shm/layout.h\"\n"
                         "#include \"transports/kernels/kernels.h\"\n"
                         "#include \"transports/endpoint.h\"\n"),
              ElementsAre("transports/play/plan.cc:1: transports/shm/layout.h lies above the "
                          "folder of this file"));
  EXPECT_THAT(complaints("subfolders", "bench/records/case.cc",
                         "#include \"bench/reports/text.h\"\n#include \"core/units.h\"\n"),
              ElementsAre(HasSubstr("bench/reports/text.h lies above")));
}

TEST(RepeatedTypesTest, CatchesTwoTypesOfOneNameInHeaders) {
  const std::vector<SourceFile> files = {
      {"core/a.h", "struct Path {\n  struct Inner {};\n};\nclass Ahead;\n"},
      {"bench/b.h", "// struct Path {\nclass Path final : public Base {\n};\nclass Ahead {};\n"},
      {"bench/c.cc", "struct Path {};\n"},
      {"tests/d.h", "struct Path {};\n"},
      {"cli/e.h", "enum class Other : int {};\n  struct Inner {};\n"}};
  EXPECT_THAT(repeated_types(files),
              ElementsAre("bench/b.h:2: the type Path is also defined at core/a.h:1"));
}

TEST(RepeatedInTestsTest, CatchesATestsTypeThatProductionHasToo) {
  const std::string ours = "// What it is.\nnamespace collbench {\n";
  const std::string unnamed = "namespace {\n";
  const std::string end = "}  // namespace\n";
  const std::vector<SourceFile> files = {
      {"core/a.h", ours + "class Folder {\n};\nusing Name = int;\nconstexpr int most = 1;\n"},
      {"bench/b.cc", ours + unnamed + "struct Row {\n};\n" + end + "struct World {\n};\n"},
      {"tests/core/a_test.cc", ours + unnamed + "class Folder : public Place {\n};\n" + end},
      {"tests/bench/b.h", ours + "struct World {\n};\nstruct Row {\n};\n"},
      {"tests/bench/c_test.cc",
       ours + "struct Name {\n  struct World {};\n};\nenum class most {\n"},
      {"tests/bench/d_test.cc", ours + "using Folder = int;\nstruct World;\n"},
      {"tests/fuzz/e.cc", unnamed + "struct World {\n};\n" + end}};
  EXPECT_THAT(repeated_in_tests(files),
              ElementsAre("tests/core/a_test.cc:4: the type Folder is also defined at core/a.h:3",
                          "tests/bench/b.h:3: the type World is also defined at bench/b.cc:7"));
}

TEST(RepeatedUnnamedTest, CatchesNamesThatABatchWouldHoldTwice) {
  const std::string unnamed = "namespace {\n";
  const std::string end = "}  // namespace\n";
  const std::vector<SourceFile> files = {
      {"core/path.h", "struct Path {\n};\n"},
      {"bench/a.cc", unnamed + "struct Row {\n};\nconstexpr int most = 1;\n}\n" + end},
      {"bench/b/b.cc", unnamed + "using Row = int;\nconstexpr int most_rows[2] = {};\n" + end},
      {"bench/c.cc", unnamed + end + "struct Row {\n};\n"},
      {"cli/d.cc", unnamed + "struct Row {\n  struct Path {};\n};\n" + end},
      {"cli/e.cc", unnamed + "class Path {\n};\n" + end},
      {"transports/grpc/f.cc", unnamed + "struct Row {\n};\nconstexpr int most{1};\n" + end},
      {"transports/world/g.cc", unnamed + "constexpr int most = 1;\n" + end},
      {"transports/shm/h.cc", unnamed + "constexpr std::int64_t most = 1;\n" + end},
      {"transports/play/i.cc", unnamed + "const char* const most = \"\";\n" + end},
      {"cli/j.cc", unnamed + "using Json = A;\n" + end},
      {"cli/k.cc", unnamed + "using Json = A;\n" + end},
      {"bench/micro/l.cc", unnamed + "struct Row {\n};\n" + end},
      {"transports/shm/m_avx2.cc", unnamed + "constexpr int most = 1;\n" + end}};
  EXPECT_THAT(repeated_unnamed(files),
              ElementsAre("bench/b/b.cc:2: Row is also defined at bench/a.cc:2",
                          "cli/e.cc:2: Path is also defined at core/path.h:1",
                          "transports/play/i.cc:2: most is also defined at transports/shm/h.cc:2"));
}

TEST(FloorsTest, LetsIncludesPointDownwardsAndTestsSeeAll) {
  EXPECT_THAT(
      complaints("floors", "cli/run.cc",
                 "#include <vector>\n#include \"bench/records/case.h\"\n#include \"core/units.h\"\n"
                 "#include \"cli/run.h\"\n"),
      IsEmpty());
  EXPECT_THAT(complaints("floors", "tests/core/units_test.cc", "#include \"cli/run.h\"\n"),
              IsEmpty());
}

TEST(MachineryTest, KeepsThirdPartyHeadersInTheirFolder) {
  EXPECT_THAT(complaints("machinery", "bench/team.cc", "#include <grpcpp/grpcpp.h>\n"),
              ElementsAre("bench/team.cc:1: bench/team.cc may not include grpcpp/grpcpp.h"));
  const char* json = "#include <nlohmann/json.hpp>\n";
  EXPECT_EQ(complaints("machinery", "bench/records/record_json.cc", json).size(), 1U);
  EXPECT_THAT(complaints("machinery", "core/json.h", json), IsEmpty());
  EXPECT_THAT(complaints("machinery", "transports/mpi/mpi.cc", "#include <mpi.h>\n"), IsEmpty());
  EXPECT_THAT(complaints("machinery", "bench/mpi.cc", "#include <mpi.h>\n"),
              ElementsAre(HasSubstr("bench/mpi.cc may not include mpi.h")));
  EXPECT_THAT(complaints("machinery", "bench/peers/mpi.cc", "#include <mpi.h>\n"), IsEmpty());
  EXPECT_THAT(complaints("machinery", "transports/sim.cc", "#include <simgrid/s4u.hpp>\n"),
              ElementsAre(HasSubstr("transports/sim.cc may not include")));
}

TEST(MachineryTest, TreatsWhatProtocWroteAsThirdParty) {
  const std::string include = "#include \"recvbuf.grpc.pb.h\"\n";
  EXPECT_THAT(complaints("floors", "transports/recvbuf.cc", include), IsEmpty());
  EXPECT_THAT(complaints("machinery", "transports/recvbuf.cc", include), IsEmpty());
  EXPECT_EQ(complaints("machinery", "transports/recvbuf.h", include).size(), 1U);
  EXPECT_EQ(complaints("machinery", "bench/recvbuf.cc", include).size(), 1U);
}

TEST(MachineryTest, KeepsThirdPartyHeadersOutOfAllHeaders) {
  EXPECT_THAT(complaints("machinery", "transports/grpc.h", "#include <grpcpp/grpcpp.h>\n"),
              ElementsAre(HasSubstr("a header may not include")));
  EXPECT_THAT(complaints("machinery", "transports/nccl.cuh", "#include <nccl.h>\n"),
              ElementsAre(HasSubstr("a header may not include")));
}

TEST(IncludesTest, CatchesAHeaderThatLeavesAnIncludeToOthers) {
  const std::string use = "\nstd::vector<std::uint64_t> f();  // of std::string\n";
  EXPECT_THAT(
      complaints("includes", "core/a.h", use),
      ElementsAre("core/a.h:2: needs #include <cstdint>", "core/a.h:2: needs #include <vector>"));
  EXPECT_THAT(complaints("includes", "core/a.h", "#include <cstdint>\n#include <vector>\n" + use),
              IsEmpty());
  EXPECT_THAT(complaints("includes", "core/a.cc", use), IsEmpty());
  EXPECT_THAT(complaints("includes", "core/a.h", "std::string_view f();\n"), IsEmpty());
}

TEST(SizeTest, CatchesTheLineThatIsOneTooMany) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "\n";
  EXPECT_THAT(complaints("size", "core/a.cc", text), IsEmpty());
  EXPECT_THAT(complaints("size", "core/a.cc", text + "\n"),
              ElementsAre(HasSubstr("401 lines; at most 400")));
}

TEST(SizeTest, CountsColumnsNotBytes) {
  const std::string wide(100, 'x');
  EXPECT_THAT(complaints("size", "core/a.cc", wide + "\n"), IsEmpty());
  EXPECT_THAT(complaints("size", "core/a.cc", "\n" + wide + "x\n"),
              ElementsAre("core/a.cc:2: 101 columns; at most 100"));
  EXPECT_THAT(complaints("size", "core/a.cc", wide.substr(1) + "\xC3\xA9\n"), IsEmpty());
}

std::string lines(int n, const std::string& line) {
  std::string text;
  for (int i = 0; i < n; ++i) text += line + "\n";
  return text;
}

TEST(FunctionLengthTest, CatchesTheLineThatIsOneTooMany) {
  EXPECT_THAT(
      complaints("function_length", "core/a.cc", "int f() {\n" + lines(68, "  g();") + "}\n"),
      IsEmpty());
  EXPECT_THAT(complaints("function_length", "core/a.cc",
                         "\n// why\nint f(int a,\n      int b) {\n" + lines(68, "  g();") + "}\n"),
              ElementsAre("core/a.cc:3: function of 71 lines; at most 70"));
}

TEST(FunctionLengthTest, CatchesMembersLambdasAndTestsToo) {
  const std::string body = lines(80, "    g();");
  for (const std::string opening :
       {"class A {\n  void f() const {\n",
        "namespace a {\nstruct B : A {\n  explicit B(int i)\n {\n",
        "constexpr Row rows[] = {\n{\"a\", [](int n) {\n", "TEST(A, B) {\n  if (true) {\n",
        "template <class T>\nvoid f(T t) {\n{\n",
        "template <class T>\nvoid f(struct B* b) {\n{\n"}) {
    EXPECT_EQ(complaints("function_length", "core/a.cc", opening + body + "}\n}\n}\n").size(), 1U)
        << opening;
  }
}

TEST(FunctionLengthTest, LetsTypesNamespacesAndTablesBeLong) {
  for (const std::string opening :
       {"class A : public B<int(int)> {", "namespace {", "const std::vector<Row> rows{",
        "enum class Kind : int {", "template <class T>\nstruct A {"}) {
    EXPECT_THAT(
        complaints("function_length", "core/a.cc", opening + "\n" + lines(80, "  f(1);") + "}\n"),
        IsEmpty())
        << opening;
  }
}

TEST(FunctionLengthTest, BracesInCommentsStringsAndMacrosDoNotCount) {
  const std::string text =
      "#define OPEN (x) {\n"
      "int f() {  // {\n"
      "  g(\"{\", '{', R\"({ \" {)\", 1'000, \"\\\"{\");\n"
      "  /* {\n   { */\n"
      "}\n" +
      lines(80, "int x;");
  EXPECT_THAT(complaints("function_length", "core/a.cc", text), IsEmpty());
  ASSERT_EQ(functions_of(text).size(), 1U);
  EXPECT_EQ(functions_of(text)[0].first, 2);
  EXPECT_EQ(functions_of(text)[0].last, 6);
}

TEST(ProseTest, CatchesAHeaderThatDoesNotSayWhatItIs) {
  EXPECT_THAT(complaints("prose", "core/a.h", "#pragma once\n"), testing::SizeIs(2));
  EXPECT_THAT(complaints("prose", "core/a.h", "// Quantities\n#pragma once\n"),
              ElementsAre(HasSubstr("starts with a sentence")));
  EXPECT_THAT(complaints("prose", "core/a.h", "// Quantities with their unit.\n"),
              ElementsAre(HasSubstr("#pragma once")));
  EXPECT_THAT(complaints("prose", "core/a.h", "// Quantities with their unit.\n#pragma once\n"),
              IsEmpty());
  EXPECT_THAT(complaints("prose", "core/a.cc", "#include <map>\n"), IsEmpty());
}

TEST(NameTest, CatchesNamesThatSayNothing) {
  for (const char* path :
       {"core/utils.h", "core/string_helpers.cc", "bench/common.h", "cli/run_impl.cc",
        "transports/manager.h", "core/Units.h", "core/a-b.h"}) {
    EXPECT_EQ(complaints("name", path, "").size(), 1U) << path;
  }
  EXPECT_THAT(complaints("name", "core/units.h", ""), IsEmpty());
  EXPECT_THAT(complaints("name", "algorithms/simplest.cc", ""), IsEmpty());
  EXPECT_THAT(complaints("name", "algorithms/baseline.cc", ""), IsEmpty());
}

TEST(UnfinishedTest, CatchesMarksOfUnfinishedWork) {
  const std::string mark = std::string("TO") + "DO";
  EXPECT_THAT(complaints("unfinished", "core/a.cc", "\n// " + mark + ": later\n"),
              ElementsAre("core/a.cc:2: unfinished work belongs into an issue"));
  EXPECT_THAT(complaints("unfinished", "core/a.cc", "int " + mark + "S;\n"), IsEmpty());
}

TEST(RoundsTest, CatchesReadersOfRawRounds) {
  for (const char* line :
       {"if (op.kind == OpKind::recv_reduce) ++folds;", "return OpKind::recv_reduce != kind;",
        "    case OpKind::recv_reduce:", "for (const Op& op : round.ops()) add(op);"}) {
    EXPECT_EQ(complaints("rounds", "simulator/a.cc", line).size(), 1U) << line;
  }
  EXPECT_EQ(complaints("rounds", "algorithms/a.cc", "if (k == OpKind::recv_reduce)").size(), 1U);
  for (const char* line : {"out.push({OpKind::recv_reduce, peer, chunks});",
                           "case Step::Kind::recv_reduce:", "// of round.ops()"}) {
    EXPECT_THAT(complaints("rounds", "simulator/a.cc", line), IsEmpty()) << line;
  }
  EXPECT_THAT(complaints("rounds", "algorithms/resolve.cc", "if (k == OpKind::recv_reduce)"),
              IsEmpty());
  EXPECT_THAT(complaints("rounds", "algorithms/a.cc", "for (const Op& op : round.ops())"),
              IsEmpty());
}

TEST(BackEndNamesTest, CatchesASourceThatAsksForARowByName) {
  const SourceFile rows{"transports/world/backend.cc", "{.name = \"shm\"}, {.name = \"grpc\"}"};
  const auto caught = [&](const std::string& path, const std::string& line) {
    return back_ends_by_name(std::vector<SourceFile>{rows, {path, line}}).size();
  };
  EXPECT_EQ(caught("bench/a.cc", "if (point.backend == \"shm\") return;"), 1U);
  EXPECT_EQ(caught("cli/a.cc", "const Backend& one = find_backend(\"grpc\");"), 1U);
  EXPECT_EQ(caught("training/a.cc", "run(back_end != \"grpc\");"), 1U);
  EXPECT_EQ(caught("cli/a.cc", "std::string backend;  // \"shm\" or \"grpc\""), 0U);
  EXPECT_EQ(caught("cli/a.cc", "row.library = \"nccl\";"), 0U);
  EXPECT_EQ(caught("transports/a.cc", "find_backend(\"grpc\");"), 0U);
  EXPECT_EQ(back_ends_by_name({}).size(), 1U) << "a table that is not found hides everything";
}

TEST(OutputTest, CatchesPrintingOutsideTheCommand) {
  for (const char* line : {"std::cout << 1;", "printf(\"x\");", "std::fprintf(stderr, \"x\");",
                           "fmt::print(\"x\");", "std::puts(\"x\");"}) {
    EXPECT_EQ(complaints("output", "bench/a.cc", line).size(), 1U) << line;
    EXPECT_THAT(complaints("output", "cli/a.cc", line), IsEmpty()) << line;
  }
  EXPECT_THAT(complaints("output", "bench/a.cc", "snprintf(b, 2, \"x\");  // not std::cout\n"),
              IsEmpty());
}

TEST(ReferencesTest, CatchesThoseThatMinmaxKeepsOfResults) {
  for (const char* line :
       {"const auto [a, b] = std::minmax(x, f());", "const auto [a, b] = std::minmax(x + 1, y);",
        "const auto& least = std::min(x, f());"}) {
    EXPECT_EQ(complaints("references", "core/a.cc", line).size(), 1U) << line;
  }
  for (const char* line :
       {"const auto [a, b] = std::minmax({x, f()});", "const auto [a, b] = std::minmax(x.from, y);",
        "const auto least = std::min(x, f());"}) {
    EXPECT_THAT(complaints("references", "core/a.cc", line), IsEmpty()) << line;
  }
}

TEST(CodeOfTest, KeepsLinesAndBlanksOnlyWhatIsNotCode) {
  EXPECT_EQ(code_of("a; // b\nc"), "a;     \nc");
  EXPECT_EQ(code_of("a(\"b\\\"c\") /* d\ne */ f"), "a(      )     \n     f");
  EXPECT_EQ(code_of("1'000'000 + 'x'"), "1'000'000 +    ");
  EXPECT_EQ(code_of("R\"x(a)\" )x\" b"), "            b");
}

}  // namespace
}  // namespace collbench::tidy
