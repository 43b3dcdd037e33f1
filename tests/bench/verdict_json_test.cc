// Comparisons as JSON: written and read back.
#include "bench/verdicts/verdict_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/bench/report_verdicts.h"
#include "tests/core/flipped_bits.h"

#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using testing::HasSubstr;

Comparison everything() {
  Verdict slower = scripted_verdict("a", VerdictOutcome::slower, 1.2, "confirmed");
  slower.confirmation = slower.ratio;
  slower.noise = slower.ratio;
  Verdict open = scripted_verdict("b", VerdictOutcome::inconclusive, 1.04);
  open.ratio->high = std::numeric_limits<double>::infinity();
  open.rounds_needed = 31;
  Verdict added = scripted_verdict("c", VerdictOutcome::added, 1);
  added.base.reset();
  added.ratio.reset();
  Verdict exact = scripted_verdict("d", VerdictOutcome::changed, 1);
  exact.exact = true;
  exact.ratio.reset();
  exact.changes = {{"messages", "126", "140"}};
  Comparison comparison = scripted_comparison({slower, open, added, exact});
  comparison.confirm_rounds = 40;
  comparison.elapsed = Seconds{12.5};
  comparison.stopped_by = "budget";
  comparison.mismatches = {"cpu: 'A' is not 'B'"};
  comparison.warnings = {"7 rounds"};
  comparison.rule.threshold = 0.1;
  comparison.rule.fail_on = {VerdictOutcome::wrong};
  return comparison;
}

TEST(ComparisonJsonTest, ReadBackItIsTheSame) {
  const std::string text = to_json(everything());
  EXPECT_EQ(to_json(comparison_from_json(text)), text);
}

TEST(ComparisonJsonTest, AnOpenIntervalIsNullAndReadBackAsOpen) {
  const std::string text = to_json(everything());
  EXPECT_TRUE(parse_json<nlohmann::json>(text)["verdicts"][1]["ratio"]["high"].is_null());
  EXPECT_TRUE(std::isinf(comparison_from_json(text).verdicts[1].ratio->high));
}

TEST(ComparisonJsonTest, ADamagedOneIsRefused) {
  const std::string text = to_json(everything());
  // A flipped bit of the checksum's own name leaves one that has none.
  const std::size_t name = text.find("\"crc32c\"");
  ASSERT_NE(name, std::string::npos);
  for_each_flipped_bit(text, 0, 7, [&](const std::string& damaged, std::size_t at) {
    if (at >= name && at < name + 8) return;
    std::string read;
    try {
      read = to_json(comparison_from_json(damaged));
    } catch (const InvalidArgument&) {
      return;
    }
    EXPECT_EQ(read, text) << "byte " << at << " of a blank";
  });
}

TEST(ComparisonJsonTest, OneOfBeforeThereWereChecksumsIsRead) {
  auto old = parse_json<nlohmann::ordered_json>(to_json(everything()));
  old.erase("crc32c");
  EXPECT_EQ(to_json(comparison_from_json(old.dump())), to_json(everything()));
  old["headline"] = "edited";
  EXPECT_NO_THROW(comparison_from_json(old.dump()));
}

TEST(ComparisonJsonTest, RefusesOtherVersionsAndOtherFiles) {
  const auto message_of = [](const std::string& text) -> std::string {
    try {
      comparison_from_json(text);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  auto other = parse_json<nlohmann::json>(to_json(everything()));
  other["schema_version"] = 7;
  EXPECT_THAT(message_of(other.dump()), HasSubstr("schema version 7; this collbench reads 1"));
  EXPECT_THAT(message_of("{}"), HasSubstr("not a comparison of collbench"));
  EXPECT_THAT(message_of("[1,"), HasSubstr("not a comparison of collbench"));
}

}  // namespace
}  // namespace collbench
