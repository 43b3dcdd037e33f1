#include "core/plain_text.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PrintableTest, ShowsControlCharactersAndKeepsTheRest) {
  EXPECT_EQ(printable("\x1b]0;x\x07 a\tb\n\x7f"), "\\x1b]0;x\\x07 a\tb\n\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("1.5 µs, ś, 漢, 😀"), "1.5 µs, ś, 漢, 😀");
  EXPECT_EQ(printable("a\u202eb\u2069"), "a\\xe2\\x80\\xaeb\\xe2\\x81\\xa9");
  EXPECT_EQ(printable("\u2030\u2065"), "\u2030\u2065");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\x9b"
                      "1m\xc2\xa0\xf5l"),
            "\\xc2\\x9b31m\\x9b1m\xc2\xa0\xf5l");
  EXPECT_EQ(printable("\xe6\xbc"), "\xe6\xbc") << "cut within a character";
}

TEST(WithoutTerminalCodesTest, LeavesTheTextOfALog) {
  EXPECT_EQ(without_terminal_codes("\x1b[1;31mbusbw\x1b[0m 12\r\n"), "busbw 12\r\n");
  EXPECT_EQ(without_terminal_codes("\x1b[?25l"), "");
  EXPECT_EQ(without_terminal_codes("a\x1b[12"), "a") << "cut within a code";
  EXPECT_EQ(without_terminal_codes("a\x07\x1b"), "a");
}

TEST(CountedTest, IsOneOrSeveral) {
  EXPECT_EQ(counted(1, "host"), "1 host");
  EXPECT_EQ(counted(0, "host"), "0 hosts");
  EXPECT_EQ(counted(std::int64_t{1} << 40, "record"), "1099511627776 records");
}

TEST(LowerCaseTest, LeavesAllButTheLettersOfAscii) {
  EXPECT_EQ(lower_case("NVLSTree, LL128 [x] µÄ"), "nvlstree, ll128 [x] µÄ");
}

std::string outside_of_quotes(std::string_view text) {
  QuoteScanner quotes;
  std::string outside;
  for (const char c : text) {
    if (quotes.outside(c)) outside += c;
  }
  return outside;
}

TEST(QuoteScannerTest, TakesAQuoteBehindABackslashForText) {
  EXPECT_EQ(outside_of_quotes(R"({"a":[1,"b]\"}"],"c":2})"), "{:[1,],:2}");
  EXPECT_EQ(outside_of_quotes(R"({"path\\":[3]})"), "{:[3]}") << "the backslash is escaped itself";
  EXPECT_EQ(outside_of_quotes(R"(\"a"b)"), R"(\b)") << "a backslash outside escapes nothing";
  EXPECT_EQ(outside_of_quotes(R"([1,"never closed, {)"), "[1,");
}

TEST(LibraryReasonTest, HasNoCodesOfTheLibrary) {
  const auto reason = [](const char* what) { return library_reason(std::runtime_error(what)); };
  EXPECT_EQ(reason("out of paper"), "out of paper");
  EXPECT_EQ(reason("[json.exception.type_error.302] type must be number"), "type must be number");
  EXPECT_EQ(reason("[a.1] filesystem error: no such file [/x] "), "no such file [/x] ");
  EXPECT_EQ(reason("[Rank 0] is late"), "[Rank 0] is late") << "codes have no capitals or spaces";
  EXPECT_EQ(reason("[] is empty"), "[] is empty");
  EXPECT_EQ(reason("[cut"), "[cut");
  try {
    (void)std::filesystem::file_size("/proc/nonexistent");
    FAIL();
  } catch (const std::exception& error) {
    EXPECT_THAT(library_reason(error), HasSubstr("/proc/nonexistent"));
    EXPECT_THAT(library_reason(error), Not(HasSubstr("filesystem error")));
  }
}

}  // namespace
}  // namespace collbench
