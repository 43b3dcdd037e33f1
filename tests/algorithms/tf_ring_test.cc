// tf-ring has TensorFlow's chunk table and TensorFlow's order of additions, bit by bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/simulated_ranks.h"

#include "algorithms/allreduce.h"
#include "algorithms/registry.h"

namespace collbench {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> chunk_sizes(int chunks, std::int64_t count, int element_bytes) {
  const Partition partition = tf_ring_partition(chunks);
  std::vector<std::int64_t> sizes;
  for (int c = 0; c < chunks; ++c) {
    sizes.push_back(partition(c + 1, count, element_bytes) - partition(c, count, element_bytes));
  }
  return sizes;
}

// The float32 figures for 8 workers follow from base_collective_executor.cc, "chunk alignment".
TEST(TfRingPartition, PutsSixteenElementsIntoOneChunk) {
  EXPECT_THAT(chunk_sizes(8, 16, 4), ElementsAre(16, 0, 0, 0, 0, 0, 0, 0));
}

TEST(TfRingPartition, FillsFourOfEightChunksWithSixtyFourElements) {
  EXPECT_THAT(chunk_sizes(8, 64, 4), ElementsAre(16, 16, 16, 16, 0, 0, 0, 0));
}

TEST(TfRingPartition, GrowsChunksThatAreAlignedAlready) {
  EXPECT_THAT(chunk_sizes(8, 128, 4), ElementsAre(32, 32, 32, 32, 0, 0, 0, 0));
  EXPECT_THAT(chunk_sizes(8, 1024, 4), ElementsAre(144, 144, 144, 144, 144, 144, 144, 16));
  EXPECT_THAT(chunk_sizes(8, 1 << 20, 4),
              ElementsAre(131088, 131088, 131088, 131088, 131088, 131088, 131088, 130960));
}

TEST(TfRingPartition, CutsOddTailsShort) {
  // ceil(1000 / 3) = 334 elements of 8 bytes are 2672 = 41 * 64 + 48 bytes: 2 elements more.
  EXPECT_THAT(chunk_sizes(3, 1000, 8), ElementsAre(336, 336, 328));
}

TEST(TfRingPartition, IsMonotonicAndComplete) {
  for (const int chunks : {1, 2, 3, 7, 8, 16}) {
    const Partition partition = tf_ring_partition(chunks);
    for (std::int64_t count = 0; count < 3000; count += 1 + count / 7) {
      for (const int element_bytes : {1, 2, 4, 8}) {
        EXPECT_EQ(partition(0, count, element_bytes), 0);
        EXPECT_EQ(partition(chunks, count, element_bytes), count);
        for (int c = 0; c < chunks; ++c) {
          EXPECT_LE(partition(c, count, element_bytes), partition(c + 1, count, element_bytes));
        }
      }
    }
  }
}

// ((x_c + x_c+1) + ...) + x_c-1 for each chunk c of TensorFlow's table. Subdivisions of a chunk
// travel together, so they share their chunk's order.
std::vector<float> tensorflow_sum(const Vectors& inputs, int subdivisions) {
  const int n = static_cast<int>(inputs.size());
  const auto count = static_cast<std::int64_t>(inputs[0].size());
  const Partition partition = tf_ring_partition(n * subdivisions);
  std::vector<float> sum(inputs[0].size());
  for (int c = 0; c < n; ++c) {
    const std::int64_t end = partition((c + 1) * subdivisions, count, 4);
    for (std::int64_t i = partition(c * subdivisions, count, 4); i < end; ++i) {
      float value = inputs[c][i];
      for (int step = 1; step < n; ++step) value = inputs[(c + step) % n][i] + value;
      sum[i] = value;
    }
  }
  return sum;
}

TEST(TfRing, AddsInTensorFlowsOrderBitByBitOnEveryRank) {
  for (int n = 2; n <= 12; ++n) {
    for (const int subdivisions : {1, 2, 3}) {
      const Vectors inputs = random_vectors(n, 1500, 7);
      const Vectors outputs = play(tf_ring(n, subdivisions), inputs);
      const std::vector<float> expected = tensorflow_sum(inputs, subdivisions);
      for (Rank r = 0; r < n; ++r) EXPECT_EQ(outputs[r], expected) << n << " ranks, rank " << r;
    }
  }
}

TEST(TfRing, RoundsDifferentlyFromTheTree) {
  const Vectors inputs = random_vectors(8, 1500, 7);
  EXPECT_NE(play(make_schedule("tree", 8), inputs)[0], tensorflow_sum(inputs, 1));
}

TEST(TfRing, MovesDataToTheNextRankOnly) {
  const Schedule schedule = tf_ring(7);
  Round round;
  for (Rank r = 0; r < 7; ++r) {
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(r, t, round);
      ASSERT_EQ(round.ops().size(), 2u);
      EXPECT_EQ(round.ops()[0].peer, (r + 1) % 7);
      EXPECT_EQ(round.ops()[1].peer, (r + 6) % 7);
    }
  }
}

}  // namespace
}  // namespace collbench
