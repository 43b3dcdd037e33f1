#include "bench/measure/user_buffers.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;

Case of_bytes(std::int64_t bytes) {
  Case point;
  point.workers = 4;
  point.bytes = Bytes{bytes};
  return point;
}

std::string refusal_of_case(const Case& point, Bytes available) {
  return refusal<Error>([&] { require_memory(point, available); });
}

TEST(MemoryTest, MoreThanThereIsIsRefusedWithTheFigures) {
  Case point = of_bytes(std::int64_t{1} << 30);
  point.in_place = false;
  EXPECT_EQ(refusal_of_case(point, Bytes{std::int64_t{1} << 32}),
            "4 workers with 2 buffers of 1 GiB each need 8 GiB of memory; 4 GiB are available");
  EXPECT_EQ(refusal_of_case(point, Bytes{std::int64_t{1} << 33}), "");
}

TEST(MemoryTest, SizesBeyondAllMemoryDoNotOverflow) {
  EXPECT_THAT(refusal_of_case(of_bytes(std::int64_t{1} << 61), Bytes{1 << 30}),
              HasSubstr("need more than 4 EiB"));
  EXPECT_THAT(refusal_of_case(of_bytes(-4), Bytes{1 << 30}), HasSubstr("-4 bytes is impossible"));
}

TEST(MemoryTest, PartsOfElementsAreRefused) {
  EXPECT_THAT(refusal_of_case(of_bytes(1002), Bytes{1 << 30}),
              HasSubstr("not a whole number of f32 elements of 4 B"));
}

TEST(UserBuffersTest, InPlaceSharesAndOutOfPlaceSeparatesTheBuffers) {
  for (const bool in_place : {true, false}) {
    Case point = of_bytes(100'000);
    point.in_place = in_place;
    const UserBuffers buffers(point, allocate_pages(user_buffer_bytes(point)));
    const Region in = buffers.in(0);
    const Region out = buffers.out(0);
    EXPECT_EQ(in.count, 25'000);
    EXPECT_EQ(in.data == out.data, in_place);
    EXPECT_GE(std::abs(out.data - in.data), in_place ? 0 : 100'000);
    EXPECT_EQ(buffers.in(7).data, in.data);
  }
}

TEST(UserBuffersTest, ColdBuffersAreDisjointAndLargerThanTheCache) {
  for (const std::int64_t bytes : {4, 1000, 1 << 20}) {
    for (const bool in_place : {true, false}) {
      Case point = of_bytes(bytes);
      point.buffers = Buffers::cold;
      point.in_place = in_place;
      const UserBuffers buffers(point, allocate_pages(user_buffer_bytes(point)));
      EXPECT_GE(user_buffer_bytes(point).count, 8 << 20);
      EXPECT_GE(buffers.sets(), 2);
      std::set<std::uintptr_t> starts;
      for (int set = 0; set < buffers.sets(); ++set) {
        starts.insert(reinterpret_cast<std::uintptr_t>(buffers.in(set).data));
        starts.insert(reinterpret_cast<std::uintptr_t>(buffers.out(set).data));
      }
      ASSERT_EQ(starts.size(), static_cast<std::size_t>(buffers.sets() * (in_place ? 1 : 2)));
      std::uintptr_t last = 0;
      for (const std::uintptr_t start : starts) {
        ASSERT_GE(start - last, static_cast<std::uintptr_t>(bytes));
        last = start;
      }
      EXPECT_LE(last + static_cast<std::uintptr_t>(bytes) - *starts.begin(),
                static_cast<std::uintptr_t>(user_buffer_bytes(point).count));
    }
  }
}

TEST(UserBuffersTest, LargeMemoryStartsOnAHugePage) {
  const auto memory = allocate_pages(Bytes{5 << 20});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.get()) % (2 << 20), 0U);
  memory.get()[(5 << 20) - 1] = std::byte{1};
}

}  // namespace
}  // namespace collbench
