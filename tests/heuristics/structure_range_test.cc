// What a fit of a network takes for measured: its very methods and scales, and how sure it is of
// what is not.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/structure/ignored_requests.h"
#include "heuristics/structure/structural_model.h"

namespace collbench {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// Times of a network with the constants expected before measuring, 256 B to `most`.
std::vector<MeasuredTime> expected_rows(Interconnect interconnect, const std::string& library,
                                        const std::vector<std::string>& algorithms,
                                        const std::vector<Scale>& scales,
                                        std::int64_t most = 64 << 20) {
  const NetworkModel& model = network_model(interconnect);
  std::vector<double> priors;
  for (const NetworkConstant& constant : model.constants) priors.push_back(constant.prior);
  std::vector<MeasuredTime> rows;
  for (const Scale& scale : scales) {
    for (const std::string& algorithm : algorithms) {
      for (std::int64_t bytes = 256; bytes <= most; bytes *= 4) {
        MeasuredTime row;
        row.system = "made";
        row.library = library;
        row.algorithm = algorithm;
        row.scale = scale;
        row.bytes = Bytes{bytes};
        row.time = Seconds{1e-6 * model.microseconds(*played_method(method_of(row), scale), scale,
                                                     static_cast<double>(bytes), priors)};
        rows.push_back(row);
      }
    }
  }
  return rows;
}

std::vector<MeasuredTime> switched_rows(const std::vector<std::string>& algorithms,
                                        const std::vector<int>& nodes,
                                        std::int64_t most = 64 << 20) {
  std::vector<Scale> scales;
  for (const int n : nodes) scales.push_back({n, n});
  return expected_rows(Interconnect::switched, "mpich 4", algorithms, scales, most);
}

MethodKey named_like(const MeasuredTime& row, const std::string& algorithm) {
  MethodKey method = method_of(row);
  method.algorithm = algorithm;
  return method;
}

void append(std::vector<MeasuredTime>& rows, const std::vector<MeasuredTime>& more) {
  rows.insert(rows.end(), more.begin(), more.end());
}

TEST(MeasuredWorkTest, TypesAndPlacesAreMethodsOfTheirOwn) {
  for (const bool in_place : {false, true}) {
    std::vector<MeasuredTime> rows = switched_rows({"ring", "recursive_doubling"}, {4, 8});
    for (MeasuredTime row : switched_rows({"ring", "recursive_doubling"}, {4, 8})) {
      row.in_place = in_place;
      if (!in_place) row.type = DataType::f16;
      row.time *= in_place ? 0.7 : 9;
      rows.push_back(row);
    }
    const StructuralModel model(Interconnect::switched, rows);
    for (const MeasuredTime& row : rows) {
      EXPECT_NEAR(model.estimate(method_of(row), row.scale, row.bytes).time / row.time, 1, 1e-6)
          << to_string(method_of(row)) << ' ' << to_string(row.bytes);
    }
  }
}

/// One build whose own choice is `choice` at these scales, and two of its algorithms.
std::vector<MeasuredTime> rows_of_build(const std::string& library, const std::string& choice,
                                        int nodes) {
  const std::vector<std::string> names{"ring", "recursive_doubling"};
  std::vector<MeasuredTime> rows =
      expected_rows(Interconnect::switched, library, names, {{nodes, nodes}});
  for (MeasuredTime row :
       expected_rows(Interconnect::switched, library, {choice}, {{nodes, nodes}})) {
    row.algorithm = "default";
    rows.push_back(row);
  }
  return rows;
}

TEST(LibraryChoicesTest, ABuildChoosesByItsOwnRules) {
  std::vector<MeasuredTime> rows = rows_of_build("mpich 3.4", "ring", 8);
  append(rows, rows_of_build("mpich 4.2", "recursive_doubling", 8));
  const StructuralModel model(Interconnect::switched, rows);
  const auto time = [&](const char* library, const char* algorithm, Bytes bytes) {
    MethodKey method = named_like(rows.front(), algorithm);
    method.library = library;
    return model.estimate(method, {128, 128}, bytes).time;
  };
  for (const Bytes bytes : {Bytes{4 << 10}, Bytes{16 << 20}}) {
    EXPECT_NEAR(time("mpich 3.4", "default", bytes) / time("mpich 3.4", "ring", bytes), 1, 0.1);
    EXPECT_NEAR(
        time("mpich 4.2", "default", bytes) / time("mpich 4.2", "recursive_doubling", bytes), 1,
        0.1);
  }
}

TEST(IgnoredRequestsTest, OtherChoicesAtOtherScalesAndOfOtherBuildsContradictNothing) {
  std::vector<MeasuredTime> rows = rows_of_build("mpich 3.4", "ring", 8);
  append(rows, rows_of_build("mpich 3.4", "recursive_doubling", 64));
  append(rows, rows_of_build("mpich 4.2", "recursive_doubling", 8));
  std::vector<std::string> notes;
  EXPECT_THAT(without_ignored_requests(rows, notes), SizeIs(rows.size()));
  EXPECT_THAT(notes, IsEmpty());
}

TEST(IgnoredRequestsTest, TypesAreComparedWithThemselves) {
  // The choice is the ring in f32 in both batches; in f16 nothing but the ring was measured.
  std::vector<MeasuredTime> rows;
  for (const char* batch : {"one", "two"}) {
    for (MeasuredTime row : rows_of_build("mpich 3.4", "ring", 8)) {
      row.batch = batch;
      rows.push_back(row);
      if (row.algorithm != "ring" || row.batch == "one") continue;
      row.type = DataType::f16;
      row.time *= 9;
      rows.push_back(row);
    }
  }
  std::vector<std::string> notes;
  EXPECT_THAT(without_ignored_requests(rows, notes), SizeIs(rows.size()));
  EXPECT_THAT(notes, IsEmpty());
}

}  // namespace
}  // namespace collbench
