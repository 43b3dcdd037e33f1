#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "training/data/input_pipeline.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ShardingTest, BatchSizesRotateFromWorkerToWorkerAsInTensorFlow) {
  EXPECT_THAT(batch_sizes_for_worker(7, 2, 2, 0), ElementsAre(2, 2, 2, 1));
  EXPECT_THAT(batch_sizes_for_worker(7, 2, 2, 1), ElementsAre(2, 1, 2, 2));
  EXPECT_THAT(batch_sizes_for_worker(3, 4, 1, 2), ElementsAre(1, 0, 1, 1));
}

TEST(ShardingTest, AllWorkersTogetherTakeTheGlobalBatchInEveryStep) {
  for (const std::int64_t batch : {1, 7, 12, 31}) {
    for (const int workers : {1, 2, 5}) {
      for (int step = 0; step < workers; ++step) {
        std::int64_t sum = 0;
        for (int worker = 0; worker < workers; ++worker) {
          sum += batch_sizes_for_worker(batch, workers, 1, worker)[static_cast<std::size_t>(step)];
        }
        EXPECT_EQ(sum, batch);
      }
    }
  }
}

TEST(ShardingTest, DataSlicesAreEqualButForTheLast) {
  const auto slices = [](std::int64_t batch, int replicas) {
    std::vector<std::int64_t> all;
    for (int i = 0; i < replicas; ++i) all.push_back(data_slice(batch, replicas, i));
    return all;
  };
  EXPECT_THAT(slices(5, 4), ElementsAre(2, 2, 1, 0));
  EXPECT_THAT(slices(8, 4), ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(slices(1, 3), ElementsAre(1, 0, 0));
}

TEST(ShardingTest, AnIndivisibleBatchIsRefusedInTensorFlowsWords) {
  EXPECT_EQ(per_replica_batch(64, 4), 16);
  EXPECT_THAT([] { per_replica_batch(30, 4); },
              ThrowsMessage<InvalidArgument>("The `global_batch_size` 30 is not divisible by "
                                             "`num_replicas_in_sync` 4"));
}

TEST(ShardingTest, PoliciesAreReadInEitherCase) {
  for (const char* name : {"auto", "off", "file", "data"}) {
    EXPECT_EQ(to_string(parse_auto_shard(name)), name);
  }
  EXPECT_EQ(parse_auto_shard("FILE"), AutoShard::file);
  EXPECT_THAT([] { parse_auto_shard("fiel"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("Did you mean 'file'?")));
}

}  // namespace
}  // namespace collbench
