// Which back end does which collective: what the document says is what the table of back ends says,
// and what it says they do gives right results.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/team_cases.h"

#include "bench/measure/measure_case.h"
#include "bench/measure/team.h"
#include "core/error.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

using testing::HasSubstr;

std::string document() {
  std::ostringstream text;
  text << std::ifstream(COLLBENCH_COLLECTIVES_DOCUMENT).rdbuf();
  return text.str();
}

std::string row_of(const Backend& backend) {
  const char* whose = !backend.has_library     ? "ours"
                      : backend.is_black_box() ? "its own"
                                               : "ours and its own";
  const auto word = [](bool can) { return can ? "yes" : "no"; };
  return fmt::format("| `{}` | {} | {} | {} |", backend.name, whose, word(backend.plays_schedules),
                     word(backend.uneven_shares));
}

TEST(CollectiveCells, OfTheDocumentAreThoseOfTheTable) {
  const std::string text = document();
  for (const Backend& backend : backends()) EXPECT_THAT(text, HasSubstr(row_of(backend)));
}

/// A case of each collective that a back end does, measured: every result is checked.
void expect_right(const std::string& backend, const std::string& shares, const std::string& rooted,
                  int workers) {
  const auto team = make_team(team_case(backend, shares, workers), quick());
  for (const std::string_view name : collective_names()) {
    for (const bool in_place : {true, false}) {
      for (const std::int64_t bytes : {4, 40'028}) {
        const CollectiveKind kind = parse_collective(name);
        Case point = team_case(backend, has_root(kind) ? rooted : shares, workers, bytes);
        point.collective = kind;
        point.root = has_root(kind) ? workers - 1 : 0;
        point.in_place = in_place;
        EXPECT_EQ(team->measure(point, quick()).wrong, 0)
            << backend << ' ' << name << ' ' << bytes << (in_place ? " in place" : "");
      }
    }
  }
}

/// The same of shares with counts, of which one is empty and one has almost everything.
void expect_counts_right(const std::string& backend, const std::string& algorithm,
                         CollectiveKind kind) {
  const auto team = make_team(team_case(backend, algorithm, 3), quick());
  for (const char* counts : {"0,10007,12", "3,0,0"}) {
    for (const bool in_place : {true, false}) {
      Case point = team_case(backend, algorithm, 3, 4 * sum_of_counts(counts));
      point.collective = kind;
      point.counts = counts;
      point.in_place = in_place;
      EXPECT_EQ(team->measure(point, quick()).wrong, 0)
          << backend << ' ' << to_string(kind) << ' ' << counts << ' ' << in_place;
    }
  }
}

TEST(CollectiveCells, OfCountsAreRight) {
  expect_counts_right("shm", "direct", CollectiveKind::reduce_scatter);
  expect_counts_right("shm", "ring", CollectiveKind::all_gather);
}

TEST(CollectiveCells, OfCountsAreRightByGlooAndRefusedWhereItHasNone) {
  if (const std::string why = why_unavailable(find_backend("gloo")); !why.empty()) {
    GTEST_SKIP() << why;
  }
  expect_counts_right("gloo", "gloo", CollectiveKind::all_gather);
  Case point = team_case("gloo", "gloo", 2, 400);
  point.collective = CollectiveKind::reduce_scatter;
  point.counts = "99,1";
  EXPECT_THROW(make_team(point, quick())->measure(point, quick()), Unavailable);
}

TEST(CollectiveCells, OfSharedMemoryAreRight) {
  expect_right("shm", "direct", "reduce-broadcast", 3);
  expect_right("shm", "ring", "tree", 4);
}

TEST(CollectiveCells, OfGlooAreRight) {
  const std::string why = why_unavailable(find_backend("gloo"));
  if (!why.empty()) GTEST_SKIP() << why;
  expect_right("gloo", "gloo", "gloo", 3);
}

TEST(CollectiveCells, OfALibraryThatThereAreNotSayWhy) {
  if (const std::string why = why_unavailable(find_backend("gloo")); !why.empty()) {
    GTEST_SKIP() << why;
  }
  Case point = team_case("gloo", "gloo:bcube", 2, 400);
  point.collective = CollectiveKind::all_gather;
  const auto message = [&] {
    try {
      make_team(point, quick())->measure(point, quick());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("measured");
  };
  EXPECT_THAT(message(),
              HasSubstr("gloo:bcube is an all-reduce of Gloo; for all-gather name gloo"));
  point = team_case("gloo", "gloo", 2, 400);
  point.groups = "2x1";
  EXPECT_THAT(message(), HasSubstr("groups are played by schedules of our own"));
}

}  // namespace
}  // namespace collbench
