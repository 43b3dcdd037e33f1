// Packets come back as they were written, and whatever else arrives is refused, not believed.
#include "core/packet.h"

#include <algorithm>
#include <limits>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"

namespace collbench {
namespace {

using PacketPart =
    std::variant<std::int64_t, double, std::string, std::vector<double>, std::vector<std::byte>>;

std::string random_text(RandomEngine& engine) {
  std::string text(engine() % 20, ' ');
  for (char& c : text) c = static_cast<char>(engine());
  return text;
}

PacketPart random_part(RandomEngine& engine) {
  switch (engine() % 5) {
    case 0:
      return static_cast<std::int64_t>(engine());
    case 1:
      return static_cast<double>(static_cast<std::int64_t>(engine())) * 1e-9;
    case 2:
      return random_text(engine);
    case 3: {
      std::vector<double> reals(engine() % 9);
      for (double& real : reals) real = static_cast<double>(engine());
      return reals;
    }
    default: {
      const std::string text = random_text(engine);
      const auto* first = reinterpret_cast<const std::byte*>(text.data());
      return std::vector<std::byte>(first, first + text.size());
    }
  }
}

void write(PacketWriter& writer, const PacketPart& part) {
  if (const auto* number = std::get_if<std::int64_t>(&part)) writer.number(*number);
  if (const auto* real = std::get_if<double>(&part)) writer.real(*real);
  if (const auto* text = std::get_if<std::string>(&part)) writer.text(*text);
  if (const auto* reals = std::get_if<std::vector<double>>(&part)) writer.reals(*reals);
  if (const auto* memory = std::get_if<std::vector<std::byte>>(&part)) writer.memory(*memory);
}

PacketPart read_like(PacketReader& reader, const PacketPart& part) {
  switch (part.index()) {
    case 0:
      return reader.number();
    case 1:
      return reader.real();
    case 2:
      return reader.text();
    case 3:
      return reader.reals();
    default: {
      const auto memory = reader.memory();
      return std::vector<std::byte>(memory.begin(), memory.end());
    }
  }
}

TEST(PacketTest, PartsOfAnyKindComeBackInTheirOrder) {
  RandomEngine engine = random_engine(1, "packets");
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<PacketPart> parts(engine() % 8);
    PacketWriter writer;
    for (PacketPart& part : parts) write(writer, part = random_part(engine));
    PacketReader reader(writer.packet());
    for (const PacketPart& part : parts) EXPECT_EQ(read_like(reader, part), part) << trial;
    EXPECT_NO_THROW(reader.end());
  }
}

TEST(PacketTest, APacketCutShortAnywhereIsRefused) {
  RandomEngine engine = random_engine(2, "packets");
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<PacketPart> parts(1 + engine() % 4);
    PacketWriter writer;
    for (PacketPart& part : parts) write(writer, part = random_part(engine));
    const std::string packet = writer.take();
    for (std::size_t size = 0; size < packet.size(); ++size) {
      PacketReader reader(std::string_view(packet).substr(0, size));
      EXPECT_THROW(
          {
            for (const PacketPart& part : parts) read_like(reader, part);
          },
          InvalidArgument)
          << size << " of " << packet.size();
    }
  }
}

TEST(PacketTest, BytesThatAreLeftAreRefused) {
  PacketWriter writer;
  writer.number(1).number(2);
  PacketReader reader(writer.packet());
  reader.number();
  EXPECT_THROW(reader.end(), InvalidArgument);
}

TEST(PacketTest, NoLengthIsBelieved) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{9}, std::int64_t{1} << 40,
                                    most / 8, most / 8 + 1, most, -most - 1}) {
    PacketWriter writer;
    writer.number(length).number(0);
    const auto refused = [&](auto read) {
      PacketReader reader(writer.packet());
      EXPECT_THROW(read(reader), InvalidArgument) << length;
    };
    refused([](PacketReader& reader) { reader.text(); });
    refused([](PacketReader& reader) { reader.memory(); });
    refused([](PacketReader& reader) { reader.reals(); });
  }
}

TEST(PacketTest, NumbersOutsideTheirBoundsAreRefusedByName) {
  struct Row {
    std::int64_t value;
    bool taken;
  };
  for (const Row& row :
       {Row{0, false}, Row{1, true}, Row{5, true}, Row{6, false}, Row{-1, false}}) {
    PacketWriter writer;
    writer.number(row.value);
    PacketReader reader(writer.packet());
    try {
      EXPECT_EQ(reader.number("workers", 1, 5), row.value);
      EXPECT_TRUE(row.taken) << row.value;
    } catch (const InvalidArgument& e) {
      EXPECT_FALSE(row.taken) << row.value;
      EXPECT_THAT(e.what(), testing::HasSubstr("workers"));
    }
  }
}

TEST(PacketTest, RoomIsMemoryThatIsFilledLater) {
  PacketWriter writer;
  writer.number(7);
  const std::span<std::byte> room = writer.room(3);
  ASSERT_EQ(room.size(), 3U);
  std::fill(room.begin(), room.end(), std::byte{9});
  writer.text("after");
  PacketReader reader(writer.packet());
  EXPECT_EQ(reader.number(), 7);
  EXPECT_THAT(reader.memory(), testing::ElementsAre(std::byte{9}, std::byte{9}, std::byte{9}));
  EXPECT_EQ(reader.text(), "after");
}

}  // namespace
}  // namespace collbench
