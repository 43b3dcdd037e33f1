// What `calibrate` says against its own fit.
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/invoke.h"

#include "core/parse.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Fugaku's rows of one algorithm on 8 nodes, with `factor` times the times.
std::string fugaku_rows(double factor) {
  std::ifstream file(COLLBENCH_SOURCE_DIR "/results/published/fugaku-pico.csv");
  std::string kept = "system,library,algorithm,nodes,tasks_per_node,bytes,median_us\n";
  std::string line;
  while (std::getline(file, line)) {
    if (line.find("BINE-B_CONT-UTOFU-0-") == line.npos) continue;
    if (line.find(",2x2x2,1,") == line.npos) continue;
    const std::vector<std::string> cells = split_at(line, ',');
    kept += fmt::format("fugaku,FJMPI 4.0.1,{},2x2x2,1,{},{}\n", cells[2], cells[5],
                        factor * std::stod(cells[6]));
  }
  return kept;
}

TEST(FitNotesTest, ALinkThatBeatsItsDataSheetIsToldOf) {
  const RunFolder folder;
  folder.write("measured.csv", fugaku_rows(1));
  folder.write("halved.csv", fugaku_rows(0.5));
  const CommandOutcome measured = invoke(folder, {"calibrate", "measured.csv"});
  EXPECT_EQ(measured.code, 0) << measured.err;
  EXPECT_THAT(measured.out, Not(HasSubstr("data-sheet")));
  const CommandOutcome halved = invoke(folder, {"calibrate", "halved.csv"});
  EXPECT_EQ(halved.code, 0) << halved.err;
  EXPECT_THAT(halved.out,
              testing::ContainsRegex("note: 'link' \\(of a port; Tofu-D: 6.8 GB/s\\) would be used "
                                     "at 1[0-9][0-9].* % of its data-sheet rate"));
}

}  // namespace
}  // namespace collbench
