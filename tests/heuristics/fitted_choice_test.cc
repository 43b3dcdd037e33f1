// Choices by a calibration: which measurements a prediction may overrule.
#include "heuristics/calibration/fitted_choice.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace collbench {
namespace {

/// Times of a known method over many sizes: rounds of 5 us, and bytes.
std::vector<MeasuredTime> rows_on(int nodes, const std::string& algorithm, double slower = 1,
                                  const std::string& system = "made") {
  std::vector<MeasuredTime> rows;
  for (std::int64_t bytes = 256; bytes <= 256 << 20; bytes *= 8) {
    MeasuredTime row;
    row.system = system;
    row.library = "OMPI 4.1.5";
    row.algorithm = algorithm;
    row.scale = {nodes, nodes};
    row.bytes = Bytes{bytes};
    const double rounds = algorithm == "ring_ompi" ? 2.0 * nodes : 8;
    row.time = Seconds{slower * (5e-6 * rounds + 2e-10 * static_cast<double>(bytes))};
    rows.push_back(row);
  }
  return rows;
}

void append(const std::vector<MeasuredTime>& more, std::vector<MeasuredTime>& rows) {
  rows.insert(rows.end(), more.begin(), more.end());
}

std::vector<FittedCandidate> ranked_of(const std::vector<MeasuredTime>& rows, const Scale& scale,
                                       Bytes bytes) {
  const Calibration calibration(rows);
  std::vector<MethodKey> methods;
  for (const MeasuredMethod& each : calibration.measured()) {
    if (each.method.system == "made") methods.push_back(each.method);
  }
  return rank_methods(calibration, methods, scale, bytes);
}

/// What the choice on 64 nodes is for each size.
std::vector<std::string> choices_of(const std::vector<MeasuredTime>& rows) {
  std::vector<std::string> choices;
  for (std::int64_t bytes = 256; bytes <= 256 << 20; bytes *= 8) {
    const FittedCandidate first = ranked_of(rows, {64, 64}, Bytes{bytes}).front();
    choices.push_back(first.method.algorithm + (first.is_kept ? ", kept" : ""));
  }
  return choices;
}

TEST(FittedChoiceTest, RowsOfAnotherSystemAtTheScaleDoNotMakeItMeasured) {
  std::vector<MeasuredTime> rows;
  append(rows_on(16, "recursive_doubling_ompi", 1.01), rows);
  append(rows_on(16, "rabenseifner_ompi"), rows);
  append(rows_on(16, "ring_ompi", 0.8), rows);
  const std::vector<std::string> before = choices_of(rows);
  EXPECT_GT(std::ranges::count(before, "ring_ompi, kept"), 0);
  append(rows_on(64, "ring_ompi", 1, "another"), rows);
  EXPECT_EQ(choices_of(rows), before);
}

TEST(FittedChoiceTest, AMeasurementAtTheScaleIsOverruledOnlyByWhatIsSurelyFaster) {
  const auto first_with = [](double ring) {
    std::vector<MeasuredTime> rows;
    append(rows_on(16, "ring_ompi"), rows);
    append(rows_on(16, "rabenseifner_ompi"), rows);
    const Seconds predicted = ranked_of(rows, {64, 64}, Bytes{1 << 20}).front().estimate.time;
    std::vector<MeasuredTime> there = rows_on(64, "ring_ompi");
    for (MeasuredTime& row : there) {
      row.time = predicted * (ring * static_cast<double>(row.bytes.count) / (1 << 20));
      if (row.bytes.count < 1 << 20) row.time = predicted * ring;
    }
    append(there, rows);
    return ranked_of(rows, {64, 64}, Bytes{1 << 20}).front();
  };
  EXPECT_EQ(first_with(1.02).method.algorithm, "ring_ompi");
  EXPECT_EQ(first_with(20).method.algorithm, "rabenseifner_ompi");
}

TEST(FittedChoiceTest, OfScalesOfAsManyRanksTheShapeAskedForOrAlwaysTheSameOneCounts) {
  std::vector<MeasuredTime> rows;
  for (const GridShape& shape : {GridShape{4, 4, 4}, GridShape{2, 2, 16}}) {
    MeasuredTime row = rows_on(64, "ring_ompi").front();
    row.scale.shape = shape;
    rows.push_back(row);
  }
  for (int turn = 0; turn < 2; ++turn) {
    const auto shape_for = [&](const GridShape& shape) {
      return times_at_largest_scale(rows, "made", {64, 64, shape}, Bytes{256}).at(0).scale.shape;
    };
    EXPECT_EQ(shape_for({2, 2, 16}), (GridShape{2, 2, 16}));
    EXPECT_EQ(shape_for({4, 4, 4}), (GridShape{4, 4, 4}));
    EXPECT_EQ(shape_for({8, 8, 1}), (GridShape{4, 4, 4}));
    std::ranges::reverse(rows);
  }
}

}  // namespace
}  // namespace collbench
