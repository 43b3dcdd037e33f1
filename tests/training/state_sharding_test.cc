#include "training/state_sharding.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/random.h"
#include "training/held_pages.h"
#include "training/parameter_window.h"
#include "transports/memory.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Two tensors for each of three layers.
std::vector<Tensor> six_tensors() {
  std::vector<Tensor> tensors;
  std::int64_t first = 0;
  for (const std::int64_t count : {2, 10, 3, 20, 4, 31}) {
    Tensor& tensor = tensors.emplace_back();
    tensor.layer = 2 - static_cast<int>(tensors.size() - 1) / 2;
    tensor.first = first;
    tensor.count = count;
    first += count;
  }
  return tensors;
}

std::vector<std::string> walk(const std::vector<Bucket>& buckets, bool ahead) {
  std::vector<std::string> done;
  const auto note = [&done](const char* what) {
    return [&done, what](std::size_t bucket) { done.push_back(what + std::to_string(bucket)); };
  };
  ParameterWindow window(buckets, ahead, {note("gather "), note("wait "), note("release ")});
  const std::vector<Elements> layers = layer_ranges(six_tensors());
  window.need(0, 1);  // in no pass
  window.begin(StepPass::forward);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    window.need(layer->first, layer->first + layer->count);
  }
  window.end();
  done.emplace_back("|");
  window.begin(StepPass::backward);
  for (const Elements& layer : layers) window.need(layer.first, layer.first + layer.count);
  window.end();
  return done;
}

TEST(ParameterWindowTest, GathersTheNextBucketAheadAndKeepsTheLastOneForTheBackwardPass) {
  EXPECT_THAT(walk({{0, 12}, {12, 23}, {35, 35}}, true),
              ElementsAre("gather 2", "gather 1", "wait 2", "release 2", "gather 0", "wait 1",
                          "release 1", "wait 0", "|", "gather 1", "wait 0", "release 0", "gather 2",
                          "wait 1", "release 1", "wait 2", "release 2"));
  EXPECT_THAT(walk({{0, 12}, {12, 23}, {35, 35}}, false),
              ElementsAre("gather 2", "wait 2", "release 2", "gather 1", "wait 1", "release 1",
                          "gather 0", "wait 0", "|", "wait 0", "release 0", "gather 1", "wait 1",
                          "release 1", "gather 2", "wait 2", "release 2"));
}

TEST(ParameterWindowTest, ALayerInSeveralBucketsHasThemAll) {
  EXPECT_THAT(walk({{0, 2}, {2, 68}}, true),
              ElementsAre("gather 1", "gather 0", "wait 1", "wait 1", "wait 0", "wait 1", "|",
                          "wait 0", "wait 1", "release 0", "wait 1", "wait 1", "release 1"));
}

TEST(ParameterWindowTest, WhatIsNeededIsHeldWhateverTheBuckets) {
  const std::vector<Tensor> tensors = six_tensors();
  RandomEngine random = random_engine(7, "buckets");
  for (int round = 0; round < 200; ++round) {
    std::vector<Bucket> buckets{{0, 0}};
    for (const Tensor& tensor : tensors) {
      buckets.back().count += tensor.count;
      if (uniform(random) < 0.5 && &tensor != &tensors.back()) {
        buckets.push_back({tensor.first + tensor.count, 0});
      }
    }
    std::set<std::size_t> held;
    const auto gather = [&](std::size_t b) { EXPECT_TRUE(held.insert(b).second); };
    const auto wait = [&](std::size_t b) { EXPECT_TRUE(held.contains(b)); };
    const auto release = [&](std::size_t b) { EXPECT_EQ(held.erase(b), 1U); };
    ParameterWindow window(buckets, round % 2 == 0, {gather, wait, release});
    const std::vector<Elements> layers = layer_ranges(tensors);
    for (int step = 0; step < 2; ++step) {
      window.begin(StepPass::forward);
      for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
        window.need(layer->first, layer->first + layer->count);
      }
      window.end();
      window.begin(StepPass::backward);
      for (const Elements& layer : layers) {
        window.need(layer.first, layer.first + layer.count);
        for (std::size_t b = 0; b < buckets.size(); ++b) {
          const bool touched = buckets[b].first < layer.first + layer.count &&
                               layer.first < buckets[b].first + buckets[b].count;
          EXPECT_TRUE(!touched || held.contains(b));
        }
      }
      window.end();
      EXPECT_TRUE(held.empty());
    }
  }
}

TEST(StateShardingTest, SharesOfABucketCoverItOnce) {
  for (const int ranks : {1, 2, 3, 7}) {
    std::int64_t next = 100;
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Elements share = share_of({100, 5}, rank, ranks);
      EXPECT_EQ(share.first, next);
      next += share.count;
    }
    EXPECT_EQ(next, 105);
  }
}

TEST(StateShardingTest, LayersAreRunsOfTensors) {
  const std::vector<Elements> layers = layer_ranges(six_tensors());
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_EQ(layers[1].first, 12);
  EXPECT_EQ(layers[1].count, 23);
}

TEST(StateShardingTest, MemoryIsThatOfSharesAndOfWhatIsUnderWay) {
  const std::vector<Tensor> tensors = six_tensors();
  const std::vector<Bucket> buckets{{0, 12}, {12, 23}, {35, 35}};
  MemoryQuestion question{.tensors = tensors, .buckets = buckets, .ranks = 2, .slots = 2};
  const auto bytes = [&](StateSharding sharding) {
    question.sharding = sharding;
    const TrainingMemory memory = expected_memory(question);
    return std::vector<std::int64_t>{memory.parameters.count, memory.gradients.count,
                                     memory.optimizer.count, memory.buffers.count};
  };
  EXPECT_THAT(bytes(StateSharding::none), ElementsAre(280, 280, 560, 0));
  // Shares of rank 0: 6, 11 and 17 elements.
  EXPECT_THAT(bytes(StateSharding::optimizer), ElementsAre(280, 280, 272, 0));
  // Pages are given back in units that are larger than these vectors.
  EXPECT_THAT(bytes(StateSharding::full), ElementsAre(136, 136, 272, 4 * (70 + 70)));
  question.wire_bytes = 2;
  EXPECT_THAT(bytes(StateSharding::none), ElementsAre(280, 280, 560, 70));
}

TEST(StateShardingTest, OfLargeVectorsTwoBucketsAreThereAtOnce) {
  constexpr std::int64_t million = 1'000'000;
  std::vector<Tensor> tensors = six_tensors();
  for (Tensor& tensor : tensors) tensor.first *= million, tensor.count *= million;
  const std::vector<Bucket> buckets{
      {0, 12 * million}, {12 * million, 23 * million}, {35 * million, 35 * million}};
  MemoryQuestion question{.sharding = StateSharding::full, .tensors = tensors, .buckets = buckets};
  const std::int64_t ends = 4 * HeldPages::unit;
  EXPECT_EQ(expected_memory(question).buffers.count, 4 * million * (58 + 58) + ends);
  question.overlap = false;
  EXPECT_EQ(expected_memory(question).buffers.count, 4 * million * (35 + 70) + ends / 2);
}

TEST(StateShardingTest, GradientsStayWholeUntilTheLastMicroBatchSumsThem) {
  constexpr std::int64_t million = 1'000'000;
  std::vector<Tensor> tensors = six_tensors();
  for (Tensor& tensor : tensors) tensor.first *= million, tensor.count *= million;
  const std::vector<Bucket> buckets{
      {0, 12 * million}, {12 * million, 23 * million}, {35 * million, 35 * million}};
  MemoryQuestion question{
      .sharding = StateSharding::full, .tensors = tensors, .buckets = buckets, .ranks = 2};
  EXPECT_EQ(expected_memory(question).gradients.count, 4 * million * 35);
  question.accumulate = 4;
  const TrainingMemory memory = expected_memory(question);
  EXPECT_EQ(memory.gradients.count, 4 * million * 70);
  EXPECT_EQ(memory.parameters.count, 4 * million * 35);
  // Those of the last micro-batch are added to them.
  EXPECT_EQ(memory.buffers.count, 4 * million * 58 + 2 * HeldPages::unit);
}

TEST(HeldPagesTest, UnitsGoBackOnceNobodyHoldsThem) {
  constexpr std::int64_t unit = HeldPages::unit;
  const std::shared_ptr<std::byte> memory = allocate_pages({3 * unit});
  const Region vector{memory.get(), 3 * unit, DataType::u8};
  std::fill_n(vector.data, vector.count, std::byte{1});
  const auto resident = [&] { return resident_bytes(vector.data, vector.size()).count; };
  HeldPages pages(vector);
  pages.hold({0, unit / 2});
  pages.hold({unit / 2, unit});
  pages.hold({3 * unit / 2, 3 * unit / 2});
  EXPECT_EQ(resident(), 3 * unit);
  pages.release({unit / 2, unit});
  EXPECT_EQ(resident(), 3 * unit) << "parts of both units are held";
  pages.release({0, unit / 2});
  EXPECT_EQ(resident(), 2 * unit);
  pages.release({3 * unit / 2, 3 * unit / 2});
  EXPECT_EQ(resident(), 0);
  EXPECT_EQ(vector.data[5], std::byte{0});
}

TEST(StateShardingTest, UnknownNamesAreRefused) {
  EXPECT_EQ(parse_state_sharding("full"), StateSharding::full);
  EXPECT_THAT([] { parse_state_sharding("optimiser"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("Did you mean 'optimizer'")));
}

}  // namespace
}  // namespace collbench
