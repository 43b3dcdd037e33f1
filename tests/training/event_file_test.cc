#include "training/event_file.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "core/crc32c.h"
#include "core/error.h"

namespace collbench {
namespace {

TEST(EventFileTest, AFileBeginsAsTensorBoardExpects) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "collbench_events_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = EventFile(folder + "/logs").path();
  EXPECT_NE(path.find("/logs/events.out.tfevents."), std::string::npos);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::filesystem::remove_all(folder);
  // 24 bytes, their checksum, and then field 1, a double.
  EXPECT_EQ(text.str().substr(0, 13), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09", 13));
  EXPECT_NE(text.str().find("brain.Event:2"), std::string::npos);
}

/// One TFRecord after another; checksums are those of crc32c, masked.
std::vector<std::string> records_of(const std::string& bytes) {
  const auto number = [&](std::size_t at, auto value) {
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
  };
  const auto checked = [](std::string_view text, std::uint32_t stored) {
    const std::uint32_t rotated = stored - 0xA282EAD8U;
    return crc32c(text) == (rotated >> 17 | rotated << 15);
  };
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = number(at, std::uint64_t{});
    EXPECT_TRUE(checked(std::string_view(bytes).substr(at, 8), number(at + 8, std::uint32_t{})));
    records.push_back(bytes.substr(at + 12, length));
    EXPECT_TRUE(checked(records.back(), number(at + 12 + length, std::uint32_t{})));
    at += 16 + length;
  }
  return records;
}

/// A field of a message: a number, or bytes.
struct WireField {
  std::uint64_t number = 0;
  std::string bytes;
};

/// By number of the field, in the order in which they came.
std::multimap<std::uint64_t, WireField> fields_of(std::string_view message) {
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.front());
      message.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  };
  const auto take = [&](std::size_t count) {
    const std::string taken(message.substr(0, count));
    message.remove_prefix(count);
    return taken;
  };
  std::multimap<std::uint64_t, WireField> fields;
  while (!message.empty()) {
    const std::uint64_t key = varint();
    WireField field;
    switch (key & 7) {
      case 0:
        field.number = varint();
        break;
      case 1:
        field.bytes = take(8);
        break;
      case 2:
        field.bytes = take(varint());
        break;
      default:
        field.bytes = take(4);
    }
    fields.emplace(key >> 3, field);
  }
  return fields;
}

TEST(EventFileTest, EveryScalarComesBackWithItsStepAndChecksums) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "collbench_events_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::vector<std::int64_t> steps = {0, 1, 127, 128, 16384, std::int64_t{1} << 40};
  const auto scalars_of = [](std::int64_t step) {
    const auto value = static_cast<double>(step);
    return std::vector<Scalar>{{"train/loss", 0.5 * value}, {std::string(200, 'x'), -value}};
  };
  EventFile file(folder);
  for (const std::int64_t step : steps) file.add(step, scalars_of(step));
  std::ostringstream text;
  text << std::ifstream(file.path(), std::ios::binary).rdbuf();
  std::filesystem::remove_all(folder);
  const std::vector<std::string> records = records_of(text.str());
  ASSERT_EQ(records.size(), 1 + steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto event = fields_of(records[i + 1]);
    EXPECT_EQ(event.find(2)->second.number, static_cast<std::uint64_t>(steps[i]));
    const auto summary = fields_of(event.find(5)->second.bytes);
    const std::vector<Scalar> expected = scalars_of(steps[i]);
    ASSERT_EQ(summary.count(1), expected.size());
    auto scalar = summary.begin();
    for (const Scalar& each : expected) {
      const auto value = fields_of((scalar++)->second.bytes);
      float number = 0;
      std::memcpy(&number, value.find(2)->second.bytes.data(), sizeof number);
      EXPECT_EQ(value.find(1)->second.bytes, each.tag);
      EXPECT_EQ(number, static_cast<float>(each.value));
    }
  }
}

TEST(EventFileTest, AFolderThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(EventFile("/proc/nowhere"), Unavailable);
}

}  // namespace
}  // namespace collbench
