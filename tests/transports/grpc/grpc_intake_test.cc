// Bytes that arrive cut anywhere become the right elements, in the right order.
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "transports/grpc/intake.h"
#include "transports/kernels/kernels.h"

namespace collbench {
namespace {

using Bytevector = std::vector<std::byte>;

template <typename T>
Region region_of(std::vector<T>& v, DataType type) {
  return {reinterpret_cast<std::byte*>(v.data()), static_cast<std::int64_t>(v.size()), type};
}

template <typename T>
std::shared_ptr<Bytevector> bytes_of(const std::vector<T>& v) {
  auto bytes = std::make_shared<Bytevector>(v.size() * sizeof(T));
  std::memcpy(bytes->data(), v.data(), bytes->size());
  return bytes;
}

TEST(ByteQueueTest, GivesBackWhatWasPushedAcrossPieces) {
  ByteQueue queue;
  auto bytes = std::make_shared<Bytevector>(10);
  for (int i = 0; i < 10; ++i) (*bytes)[static_cast<std::size_t>(i)] = std::byte(i);
  queue.push(std::span(*bytes).first(3), bytes);
  queue.push(std::span(*bytes).subspan(3, 0), bytes);
  queue.push(std::span(*bytes).subspan(3), bytes);
  EXPECT_EQ(queue.size(), 10);
  EXPECT_EQ(queue.front().size(), 3U);
  queue.consume(1);
  Bytevector seen(5);
  queue.peek(seen);
  EXPECT_EQ(seen, Bytevector(bytes->begin() + 1, bytes->begin() + 6));
  queue.consume(9);
  EXPECT_TRUE(queue.front().empty());
}

TEST(ByteQueueTest, LetsGoOfMemoryOnceConsumed) {
  ByteQueue queue;
  auto bytes = std::make_shared<Bytevector>(4);
  queue.push(*bytes, bytes);
  EXPECT_EQ(bytes.use_count(), 2);
  queue.consume(4);
  EXPECT_EQ(bytes.use_count(), 1);
}

TEST(IntakeTest, KeepsTheOrderOfReceivesFromOnePeer) {
  Intake intake(0, 2);
  std::vector<std::int32_t> first(2), second(1);
  const Intake::Slot a = intake.post_copy(1, region_of(first, DataType::i32));
  const Intake::Slot b = intake.post_copy(1, region_of(second, DataType::i32));
  const auto bytes = bytes_of(std::vector<std::int32_t>{7, 8, 9});
  intake.queue(1).push(std::span(*bytes).first(5), bytes);
  EXPECT_TRUE(intake.settle());
  EXPECT_FALSE(intake.settle());
  EXPECT_FALSE(intake.finished(a));
  EXPECT_EQ(intake.lack(a).from, 1);
  EXPECT_EQ(intake.lack(a).bytes.count, 3);
  intake.queue(1).push(std::span(*bytes).subspan(5), bytes);
  intake.settle();
  EXPECT_TRUE(intake.finished(a) && intake.finished(b));
  EXPECT_EQ(first, (std::vector<std::int32_t>{7, 8}));
  EXPECT_EQ(second, (std::vector<std::int32_t>{9}));
}

TEST(IntakeTest, FoldsReceivesIntoOneRegionInTheOrderPosted) {
  Intake intake(0, 3);
  std::vector<float> sum{1.0F};
  const Region region = region_of(sum, DataType::f32);
  const Rank one = 1, two = 2;
  const Intake::Slot a = intake.post_fold({&one, 1}, region, region, {});
  const Intake::Slot b = intake.post_copy(two, region);
  const auto late = bytes_of(std::vector<float>{5.0F});
  const auto early = bytes_of(std::vector<float>{9.0F});
  intake.queue(2).push(*early, early);
  EXPECT_FALSE(intake.settle()) << "the copy must wait for the fold posted before it";
  intake.queue(1).push(*late, late);
  intake.settle();
  EXPECT_TRUE(intake.finished(a) && intake.finished(b));
  EXPECT_EQ(sum[0], 9.0F);
}

TEST(IntakeTest, LetsIndependentReceivesPassEachOther) {
  Intake intake(0, 3);
  std::vector<float> a(4), b(4);
  const Intake::Slot first = intake.post_copy(1, region_of(a, DataType::f32));
  const Intake::Slot second = intake.post_copy(2, region_of(b, DataType::f32));
  const auto bytes = bytes_of(std::vector<float>{1, 2, 3, 4});
  intake.queue(2).push(*bytes, bytes);
  intake.settle();
  EXPECT_FALSE(intake.finished(first));
  EXPECT_TRUE(intake.finished(second));
}

// Every source's bytes arrive in random cuts, interleaved at random: the result must be the bits of
// one N-way reduction.
template <typename T>
void check_random_cuts(DataType type, std::uint64_t seed, int ranks, std::vector<Rank> order,
                       const std::function<T(RandomEngine&)>& value) {
  SCOPED_TRACE(std::string(to_string(type)) + ", seed " + std::to_string(seed));
  RandomEngine engine = random_engine(seed, "cuts");
  const auto count = static_cast<std::size_t>(1 + engine() % 300);
  std::vector<std::vector<T>> inputs(static_cast<std::size_t>(ranks), std::vector<T>(count));
  for (auto& input : inputs) {
    for (T& element : input) element = value(engine);
  }
  const bool marked = std::find(order.begin(), order.end(), 0) != order.end();
  std::vector<const std::byte*> terms;
  if (!marked) terms.push_back(reinterpret_cast<const std::byte*>(inputs[0].data()));
  for (const Rank r : order) {
    terms.push_back(reinterpret_cast<const std::byte*>(inputs[static_cast<std::size_t>(r)].data()));
  }
  const Reduction reduction{ReduceOp::sum, 3};
  std::vector<T> expected(count);
  auto* const destination = reinterpret_cast<std::byte*>(expected.data());
  reduce(type, reduction, terms, {&destination, 1}, static_cast<std::int64_t>(count));

  Intake intake(0, ranks);
  std::vector<T> own = inputs[0];
  const Intake::Slot slot =
      intake.post_fold(order, region_of(own, type), region_of(own, type), reduction);
  std::vector<std::pair<Rank, std::size_t>> open;
  for (const Rank r : order) {
    if (r != 0) open.emplace_back(r, 0);
  }
  while (!open.empty()) {
    const std::size_t pick = engine() % open.size();
    auto& [r, sent] = open[pick];
    const auto bytes = bytes_of(inputs[static_cast<std::size_t>(r)]);
    const std::size_t n = std::min<std::size_t>(bytes->size() - sent, 1 + engine() % 97);
    intake.queue(r).push(std::span(*bytes).subspan(sent, n), bytes);
    sent += n;
    if (sent == bytes->size()) open.erase(open.begin() + static_cast<std::ptrdiff_t>(pick));
    intake.settle();
  }
  ASSERT_TRUE(intake.finished(slot));
  EXPECT_EQ(std::memcmp(own.data(), expected.data(), count * sizeof(T)), 0);
}

TEST(IntakeTest, RandomCutsGiveTheBitsOfOneReduction) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<Rank> orders[] = {{1}, {1, 0}, {3, 1, 2}, {2, 0, 3, 1}};
    const std::vector<Rank>& order = orders[seed % 4];
    const auto real = [](RandomEngine& engine) { return static_cast<double>(engine() % 1000) / 7; };
    check_random_cuts<float>(DataType::f32, seed, 4, order,
                             [&](RandomEngine& e) { return static_cast<float>(real(e)); });
    check_random_cuts<double>(DataType::f64, seed, 4, order, real);
    check_random_cuts<std::uint8_t>(DataType::u8, seed, 4, order,
                                    [](RandomEngine& e) { return static_cast<std::uint8_t>(e()); });
    check_random_cuts<std::uint16_t>(DataType::bf16, seed, 4, order, [](RandomEngine& e) {
      return static_cast<std::uint16_t>(0x3f00 + e() % 0x100);  // from 0.5 to 2
    });
    check_random_cuts<std::uint16_t>(DataType::f16, seed, 4, order, [](RandomEngine& e) {
      return static_cast<std::uint16_t>(0x3800 + e() % 0x800);
    });
  }
}

}  // namespace
}  // namespace collbench
