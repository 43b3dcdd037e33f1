#include "training/data/input_pipeline.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// `count` samples of one value each: their own number.
Dataset numbered(std::int64_t count, std::vector<std::int64_t> files = {}) {
  Dataset data;
  data.description = "numbers";
  data.shape = {1, 1, 1};
  data.classes = 1;
  for (std::int64_t i = 0; i < count; ++i) data.images.push_back(static_cast<float>(i));
  data.labels.resize(static_cast<std::size_t>(count));
  data.file_sizes = std::move(files);
  return data;
}

/// Samples of each replica in the steps first..last-1.
std::vector<std::multiset<int>> taken(const Dataset& data, const InputOptions& options,
                                      int replicas, std::int64_t first, std::int64_t last) {
  std::vector<std::multiset<int>> all(static_cast<std::size_t>(replicas));
  for (int r = 0; r < replicas; ++r) {
    InputPipeline input(data, options, replicas, r);
    std::vector<float> images;
    std::vector<int> labels;
    for (std::int64_t step = first; step < last; ++step) {
      const StepSize size = input.read(step, images, labels);
      EXPECT_EQ(size.mine, std::ssize(labels));
      EXPECT_LE(size.mine, input.largest());
      for (const float value : images) {
        all[static_cast<std::size_t>(r)].insert(static_cast<int>(value));
      }
    }
  }
  return all;
}

std::multiset<int> together(const std::vector<std::multiset<int>>& all) {
  std::multiset<int> sum;
  for (const auto& one : all) sum.insert(one.begin(), one.end());
  return sum;
}

std::multiset<int> numbers_between(int first, int last) {
  std::multiset<int> all;
  for (int i = first; i < last; ++i) all.insert(i);
  return all;
}

TEST(InputPipelineTest, APassWithItsRemainderTakesEverySampleOnce) {
  const Dataset data = numbered(29);
  const InputOptions options{8, 3, AutoShard::data, false};
  for (const int replicas : {1, 2, 4, 8}) {
    InputPipeline input(data, options, replicas, 0);
    ASSERT_EQ(input.steps_per_pass(), 4);
    EXPECT_EQ(input.size_of_step(3).all, 5);
    EXPECT_EQ(together(taken(data, options, replicas, 0, 4)), numbers_between(0, 29));
    EXPECT_EQ(together(taken(data, options, replicas, 4, 8)), numbers_between(0, 29))
        << "second pass";
  }
}

TEST(InputPipelineTest, DroppingTheRemainderLeavesWholeBatchesOnly) {
  const InputOptions options{8, 3, AutoShard::data, true};
  const Dataset data = numbered(29);
  InputPipeline input(data, options, 2, 1);
  EXPECT_EQ(input.steps_per_pass(), 3);
  for (std::int64_t step = 0; step < 9; ++step) EXPECT_EQ(input.size_of_step(step).mine, 4);
}

TEST(InputPipelineTest, TheSamplesOfAStepDoNotDependOnTheNumberOfReplicas) {
  const Dataset data = numbered(24);
  const InputOptions options{8, 5, AutoShard::data, true};
  const auto alone = together(taken(data, options, 1, 1, 2));
  for (const int replicas : {2, 4}) {
    EXPECT_EQ(together(taken(data, options, replicas, 1, 2)), alone);
  }
}

TEST(InputPipelineTest, FilesGoToWorkersInTurn) {
  const Dataset data = numbered(20, {4, 6, 8, 2});
  const InputOptions options{4, 1, AutoShard::file, false};
  const auto all = taken(data, options, 2, 0, 6);  // 12 samples of worker 0, 2 at a time
  std::multiset<int> first = numbers_between(0, 4);
  first.merge(numbers_between(10, 18));
  EXPECT_EQ(all[0], first);
  std::multiset<int> second = numbers_between(4, 10);
  second.merge(numbers_between(18, 20));
  EXPECT_EQ(all[1], second);
  InputPipeline input(data, options, 2, 1);
  EXPECT_EQ(input.steps_per_pass(), 6);
  EXPECT_EQ(input.size_of_step(5).mine, 0) << "its files have ended";
  EXPECT_EQ(input.size_of_step(5).all, 2);
}

TEST(InputPipelineTest, NoWorkersFilesAreLeftOutForThoseOfAnotherAreFewer) {
  const Dataset data = numbered(500, {100, 100, 100, 100, 100});
  for (const bool drop_remainder : {true, false}) {
    const InputOptions options{30, 1, AutoShard::automatic, drop_remainder};
    InputPipeline input(data, options, 3, 2);
    ASSERT_EQ(input.steps_per_pass(), 20);
    EXPECT_EQ(input.size_of_step(9).all, 30);
    EXPECT_EQ(input.size_of_step(10).all, 20) << "the third worker has 100 samples, the others 200";
    EXPECT_EQ(input.size_of_step(10).mine, 0);
    EXPECT_EQ(together(taken(data, options, 3, 0, 20)), numbers_between(0, 500));
  }
}

TEST(InputPipelineTest, OnlyAWorkersWholePartOfAStepIsTakenWithoutRemainders) {
  const Dataset data = numbered(20, {11, 9});
  const InputOptions options{8, 1, AutoShard::file, true, 2};  // two replicas take 2 samples each
  const auto all = taken(data, options, 4, 0, 2);
  EXPECT_EQ(InputPipeline(data, options, 4, 0).steps_per_pass(), 2);
  for (const auto& one : all)
    EXPECT_EQ(one.size(), 4U) << "of the rest of 3 none has a whole batch";
}

TEST(InputPipelineTest, OffGivesEveryWorkerAllSamplesInAnOrderOfItsOwn) {
  const Dataset data = numbered(12);
  const InputOptions options{4, 1, AutoShard::off, true};
  EXPECT_EQ(InputPipeline(data, options, 2, 0).steps_per_pass(), 6);
  for (const auto& one : taken(data, options, 2, 0, 6)) EXPECT_EQ(one, numbers_between(0, 12));
  const auto first = taken(data, options, 2, 0, 3);
  EXPECT_NE(first[0], first[1]);
}

TEST(InputPipelineTest, ReplicasOfOneWorkerShareItsBatchesWhateverThePolicy) {
  const Dataset data = numbered(100, {20, 20, 20, 20, 20});
  for (const AutoShard sharding :
       {AutoShard::automatic, AutoShard::file, AutoShard::off, AutoShard::data}) {
    InputOptions options{12, 3, sharding, false};
    EXPECT_EQ(together(taken(data, options, 1, 0, 9)), numbers_between(0, 100));
    for (const int replicas : {2, 3, 4, 12}) {
      for (std::int64_t step = 0; step < 9; ++step) {
        options.replicas = 1;
        const auto alone = together(taken(data, options, 1, step, step + 1));
        options.replicas = replicas;
        EXPECT_EQ(together(taken(data, options, replicas, step, step + 1)), alone)
            << to_string(sharding) << ", " << replicas << " replicas, step " << step;
      }
      EXPECT_EQ(InputPipeline(data, options, replicas, 0).steps_per_pass(), 9);
    }
  }
}

TEST(InputPipelineTest, ReplicasOfSeveralWorkersShareTheFilesOfTheirOwn) {
  const Dataset data = numbered(20, {4, 6, 8, 2});
  const InputOptions options{4, 1, AutoShard::file, false, 2};
  const auto all = taken(data, options, 4, 0, 6);
  std::multiset<int> first = numbers_between(0, 4);
  first.merge(numbers_between(10, 18));
  EXPECT_EQ(together({all[0], all[1]}), first);
  std::multiset<int> second = numbers_between(4, 10);
  second.merge(numbers_between(18, 20));
  EXPECT_EQ(together({all[2], all[3]}), second);
  EXPECT_EQ(InputPipeline(data, options, 4, 3).steps_per_pass(), 6);
}

TEST(InputPipelineTest, TheDivisionOfTheDataIsTold) {
  const auto division = [](const Dataset& data, AutoShard sharding, int replicas) {
    return InputPipeline(data, {4, 1, sharding, true, replicas}, 4, 0).division();
  };
  const Dataset in_files = numbered(16, {4, 4, 4, 4});
  EXPECT_EQ(division(in_files, AutoShard::automatic, 1), "file among 4 workers");
  EXPECT_EQ(division(in_files, AutoShard::automatic, 4), "file among 1 worker");
  EXPECT_EQ(division(in_files, AutoShard::off, 2), "off among 2 workers");
  EXPECT_EQ(division(in_files, AutoShard::data, 1), "data");
  EXPECT_EQ(division(numbered(16), AutoShard::automatic, 1), "data");
}

TEST(InputPipelineTest, FewerSamplesThanABatchAreOneStepWhereRemaindersStay) {
  const Dataset data = numbered(10);
  const InputOptions options{64, 1, AutoShard::data, false};
  EXPECT_EQ(InputPipeline(data, options, 4, 0).steps_per_pass(), 1);
  EXPECT_EQ(together(taken(data, options, 4, 0, 1)), numbers_between(0, 10));
}

TEST(InputPipelineTest, AutomaticTakesFilesWhereThereAreEnough) {
  const auto policy = [](const Dataset& data) {
    return InputPipeline(data, {4, 1, AutoShard::automatic, true}, 2, 0).sharding();
  };
  EXPECT_EQ(policy(numbered(8)), AutoShard::data);
  EXPECT_EQ(policy(numbered(8, {8})), AutoShard::data);
  EXPECT_EQ(policy(numbered(8, {4, 4})), AutoShard::file);
}

TEST(InputPipelineTest, RefusesWhatDoesNotFit) {
  const auto refuses = [](const Dataset& data, const InputOptions& options, int replicas,
                          const char* words) {
    EXPECT_THAT([&] { InputPipeline(data, options, replicas, 0); },
                ThrowsMessage<InvalidArgument>(HasSubstr(words)));
  };
  refuses(numbered(8), {9, 1}, 1, "a global batch of 9 does not fit 8 samples");
  refuses(numbered(8), {4, 1, AutoShard::data, true, 2}, 3, "3 replicas are not those of workers");
  refuses(numbered(8), {4, 1, AutoShard::file}, 2, "FILE sharding needs samples that were read");
  refuses(numbered(8, {8}), {4, 1, AutoShard::file}, 2,
          "The dataset does not have enough file(s) for the required 2 shards/workers.");
}

}  // namespace
}  // namespace collbench
