// The input of gnuplot. tests/cli/report_test.cc lets gnuplot draw it.
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_records.h"

#include "bench/reports/formats.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::Not;

Record placed(const std::string& algorithm, const std::string& backend, int workers,
              std::optional<Bound> bound = {}) {
  Record record = scripted_record(algorithm, workers, {1024}, 5000);
  record.point.backend = backend;
  record.bound = std::move(bound);
  return record;
}

std::string plot(const std::vector<Record>& records) {
  std::ostringstream out;
  write_gnuplot(out, records, "out.svg");
  return out.str();
}

/// Colour, dash and point of the line called `title`; all of its lines must have the same.
std::string look(const std::string& script, const std::string& title) {
  const std::regex line("linespoints lc rgb '(\\S+)' lw 2 dt (\\S+) pt (\\S+) title '" + title +
                        "'");
  std::string found;
  for (std::sregex_iterator at(script.begin(), script.end(), line), end; at != end; ++at) {
    const std::string one = (*at)[1].str() + " " + (*at)[2].str() + " " + (*at)[3].str();
    EXPECT_TRUE(found.empty() || found == one) << title << ": " << found << ", " << one;
    found = one;
  }
  return found;
}

std::string colour(const std::string& look) { return look.substr(0, look.find(' ')); }

std::string winners(const std::vector<Record>& records, const std::string& path = "out.svg",
                    bool machines_differ = false) {
  std::ostringstream out;
  write_winner_map(out, records, path, machines_differ);
  return out.str();
}

TEST(WinnerMapTest, ACellHasTheFastestItsColourAndTheLead) {
  const std::string script =
      winners({scripted_record("ring", 2, {1024}, 1000), scripted_record("tree", 2, {1024}, 1500),
               scripted_record("auto", 2, {1024}, 900), scripted_record("ring", 4, {2048}, 3000),
               scripted_record("tree", 4, {2048}, 1000)});
  EXPECT_THAT(script, HasSubstr("set label 'ring' at 0,0.22"));
  EXPECT_THAT(script, HasSubstr("set label '+50 %' at 0,-0.22"));
  EXPECT_THAT(script, HasSubstr("set label 'tree' at 1,1.22"));
  EXPECT_THAT(script, HasSubstr("set label '3.0x'"));
  EXPECT_THAT(script, HasSubstr("set xtics ('1 KiB' 0, '2 KiB' 1)"));
  EXPECT_THAT(script, HasSubstr("set ytics ('2' 0, '4' 1)"));
  EXPECT_THAT(script, Not(HasSubstr("auto")));  // what it chose is one of the others
}

TEST(WinnerMapTest, EqualTimesAreATieAndOneContenderIsNoMap) {
  EXPECT_THAT(
      winners({scripted_record("ring", 2, {1024}, 1000), scripted_record("tree", 2, {1024}, 1000)}),
      HasSubstr("'tie'"));
  // Beside auto alone, it is a contender.
  EXPECT_THAT(
      winners({scripted_record("ring", 2, {1024}, 1000), scripted_record("auto", 2, {1024}, 900)}),
      HasSubstr("'auto'"));
  EXPECT_THROW(winners({scripted_record("ring", 2, {1024}, 1000)}), InvalidArgument);
  EXPECT_THROW(
      winners({scripted_record("ring", 2, {1024}, 1000), scripted_record("tree", 2, {1024}, 900)},
              "out.gif"),
      InvalidArgument);
}

TEST(WinnerMapTest, OfDifferentMachinesNoneLeadsButInSimulation) {
  std::vector<Record> records = {scripted_record("ring", 2, {1024}, 1000),
                                 scripted_record("tree", 2, {1024}, 1500)};
  EXPECT_THAT(winners(records, "out.svg", true),
              AllOf(HasSubstr("fs solid 0.3"), HasSubstr("set label 'not comparable' at 0,-0.22"),
                    Not(HasSubstr("+50 %"))));
  for (Record& record : records) record.point.simulated.topology = "star:2";
  EXPECT_THAT(winners(records, "out.svg", true), HasSubstr("set label '+50 %' at 0,-0.22"));
}

TEST(PlotTest, BackEndsShareAPlotAndAnAlgorithmHasOneColour) {
  // Were colours counted in each plot anew, ring would have another in the second one.
  const std::string script =
      plot({placed("ring", "shm", 2), placed("ring", "grpc", 2), placed("direct", "shm", 2),
            placed("gloo", "gloo", 2), placed("direct", "shm", 4), placed("ring", "grpc", 4)});
  EXPECT_THAT(script, HasSubstr("set multiplot layout 2,2"));
  const std::string shm = look(script, "ring@shm");
  const std::string grpc = look(script, "ring@grpc");
  ASSERT_NE(shm, "");
  EXPECT_EQ(colour(shm), colour(grpc));
  EXPECT_NE(shm, grpc);
  EXPECT_NE(colour(look(script, "direct@shm")), colour(shm));
  EXPECT_NE(look(script, "gloo"), "");
  EXPECT_THAT(script, HasSubstr("set title '2 workers, f32 sum' noenhanced"));
}

TEST(PlotTest, OneBackEndStandsInTheTitle) {
  const std::string script = plot({placed("ring", "shm", 2), placed("direct", "shm", 2)});
  EXPECT_THAT(script, HasSubstr("set title '2 workers, f32 sum on shm' noenhanced"));
  EXPECT_NE(look(script, "ring"), "");
  EXPECT_THAT(script, Not(HasSubstr("ring@")));
}

TEST(PlotTest, EachBackEndHasItsOwnBound) {
  const Bound bound{Seconds{1e-6}, "memory"};
  Record larger = placed("ring", "shm", 2, bound);
  larger.point.bytes = {4096};
  Record over_grpc = larger;
  over_grpc.point.backend = "grpc";
  const std::string script = plot({placed("gloo", "gloo", 2), placed("ring", "shm", 2, bound),
                                   placed("ring", "grpc", 2, bound), larger, over_grpc});
  EXPECT_THAT(script, HasSubstr("title 'bound of shm'"));
  EXPECT_THAT(script, HasSubstr("title 'bound of grpc'"));
  EXPECT_THAT(script, Not(HasSubstr("bound of gloo")));
  // One point makes no line, and needs no place in the legend.
  EXPECT_THAT(plot({placed("ring", "shm", 2, bound)}), Not(HasSubstr("bound of")));
}

}  // namespace
}  // namespace collbench
