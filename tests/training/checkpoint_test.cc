#include "training/checkpoint.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"
#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/mirrored.h"
#include "training/safetensors.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TrainingPlan plan_for(const char* optimizer, DataType type = DataType::f32) {
  TrainingPlan plan;
  plan.model = every_layer();
  plan.optimizer = {optimizer, 0.01, optimizer[0] == 's' ? 0.9 : 0.0};
  plan.engine = "plain";
  plan.type = type;
  plan.global_batch = 8;
  plan.epochs = 2;
  plan.steps = 5;
  plan.save_every = 1;
  plan.buckets = "1K";
  return plan;
}

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / "collbench_checkpoint_XXXXXX").string();
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  std::string path_;
};

/// Every checkpoint of a run, by its step.
std::map<std::int64_t, std::string> saved_by(const TrainingPlan& plan, int replicas,
                                             const TrainingState* start = nullptr) {
  std::map<std::int64_t, std::string> files;
  ReplicaHooks hooks;
  hooks.save = [&](const TrainingState& state) {
    files[state.step] = encode_checkpoint(plan, state);
  };
  hooks.start = start;
  train_mirrored(plan, replicas, "ring", data_for(plan.model, 60), {}, hooks);
  return files;
}

TEST_F(CheckpointTest, ARunFromAnyCheckpointEndsInTheBitsOfTheUninterruptedOne) {
  for (const char* optimizer : {"sgd", "adam"}) {
    for (const DataType type : {DataType::f32, DataType::f64}) {
      const TrainingPlan plan = plan_for(optimizer, type);
      const auto whole = saved_by(plan, 2);
      ASSERT_EQ(whole.size(), 10U);
      for (const std::int64_t step : {1, 4, 5, 9}) {
        const TrainingState start = decode_checkpoint(whole.at(step), plan, "start");
        EXPECT_EQ(start.step, step);
        EXPECT_FALSE(start.finished);
        EXPECT_EQ(saved_by(plan, 2, &start).at(10), whole.at(10)) << optimizer << " " << step;
      }
      EXPECT_TRUE(decode_checkpoint(whole.at(10), plan, "end").finished);
    }
  }
}

TEST_F(CheckpointTest, OneWishStopsAllAfterTheSameStepAndSaves) {
  const TrainingPlan plan = plan_for("adam");
  int asked = 0;
  std::int64_t saved = 0;
  ReplicaHooks hooks;
  hooks.stop_wanted = [&] { return ++asked == 4; };
  hooks.save = [&](const TrainingState& state) { saved = state.step; };
  const auto reports = train_mirrored(plan, 2, "ring", data_for(plan.model, 60), {}, hooks);
  for (const ReplicaReport& report : reports) {
    EXPECT_EQ(report.steps.size(), 4U);
    EXPECT_EQ(report.stopped_by, 0);
  }
  EXPECT_EQ(saved, 4);
}

TEST_F(CheckpointTest, ASaveThatFailsEndsAllReplicasAndItsCauseIsTold) {
  ReplicaHooks hooks;
  hooks.save = [](const TrainingState&) { throw Unavailable("the disk is full"); };
  const TrainingPlan plan = plan_for("sgd");
  EXPECT_THAT([&] { train_mirrored(plan, 4, "ring", data_for(plan.model, 60), {}, hooks); },
              ThrowsMessage<Unavailable>(HasSubstr("the disk is full")));
}

TEST_F(CheckpointTest, ASaveMayTakeLongerThanRanksWaitForEachOther) {
  ReplicaHooks hooks;
  int saved = 0;
  hooks.save = [&](const TrainingState&) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    ++saved;
  };
  TrainingPlan plan = plan_for("sgd");
  plan.timeout = Seconds{2};
  plan.epochs = 1;
  plan.save_every = 0;
  train_mirrored(plan, 2, "ring", data_for(plan.model, 60), {}, hooks);
  EXPECT_EQ(saved, 1);
}

TEST_F(CheckpointTest, TheLatestFileIsFoundAndOldOnesGo) {
  const CheckpointFolder folder(path_ + "/new", 2);
  EXPECT_EQ(folder.latest(), std::nullopt);
  for (const std::int64_t step : {9, 10, 100}) folder.save("content", step);
  EXPECT_EQ(folder.latest(), path_ + "/new/step-000000100.safetensors");
  EXPECT_EQ(read_checkpoint(*folder.latest()), "content");
  int files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(path_ + "/new")) {
    ++files;
  }
  EXPECT_EQ(files, 2) << "and nothing half-written";
}

TEST_F(CheckpointTest, OneTrainingAtATimeHasAFolder) {
  const CheckpointFolder folder(path_ + "/taken");
  {
    const Descriptor lock = folder.lock();
    EXPECT_THAT([&] { folder.lock(); },
                ThrowsMessage<InvalidArgument>(HasSubstr("another training writes to the folder")));
  }
  folder.lock();
}

TEST_F(CheckpointTest, WhatAKilledProcessLeftMakesRoomBeforeTheNextIsWritten) {
  const std::string left = path_ + "/.step-000000009.safetensors.unfinished.1.2";
  std::ofstream(left) << "half";
  std::filesystem::create_directory(path_ + "/step-000000010.safetensors");
  EXPECT_THROW(CheckpointFolder(path_).save("content", 10), Unavailable);
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST_F(CheckpointTest, AFolderThatCannotBeWrittenIsNamed) {
  std::ofstream(path_ + "/file") << "x";
  EXPECT_THAT([&] { CheckpointFolder(path_ + "/file").save("content", 1); },
              ThrowsMessage<Unavailable>(HasSubstr(path_ + "/file")));
}

TEST_F(CheckpointTest, RefusesDamagedAndForeignFiles) {
  const TrainingPlan plan = plan_for("adam");
  const std::string good = saved_by(plan, 1).at(3);
  const auto refuses = [&](const std::string& file, const TrainingPlan& other, const char* words) {
    EXPECT_THAT([&] { decode_checkpoint(file, other, "c"); },
                ThrowsMessage<InvalidArgument>(HasSubstr(words)));
  };
  refuses(good.substr(0, good.size() - 1), plan, "c is not a safetensors file");
  refuses(encode_safetensors({{{"format", "pt"}}, {}}), plan, "c is not a collbench checkpoint");
  TrainingPlan other = plan;
  other.optimizer = {"sgd", 0.01, 0.9};
  refuses(good, other, "c was saved with momentum '0'; this run has '0.9'");
  other = plan;
  other.type = DataType::f64;
  refuses(good, other, "c was saved with data type 'f32'; this run has 'f64'");
  other = plan;
  other.seed = 2;
  refuses(good, other, "c was saved with seed '1'; this run has '2'");
  other = plan;
  other.wire = DataType::f16;
  refuses(good, other, "c was saved with wire 'f32'; this run has 'f16'");
  other = plan;
  other.model.layers[4].units = 18;
  refuses(good, other, "tensor 'dense_1/kernel' is not 54 elements of f32");
}

TEST_F(CheckpointTest, EveryFlippedBitIsFound) {
  const TrainingPlan plan = plan_for("adam");
  const std::string good = saved_by(plan, 1).at(3);
  EXPECT_EQ(damage_of(good), "");
  for (std::size_t at = 0; at < good.size(); at += 1 + at / 97) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    EXPECT_NE(damage_of(bad), "") << "byte " << at;
    EXPECT_NE(refusal([&] { decode_checkpoint(bad, plan, "c"); }), "") << "byte " << at;
  }
}

TEST_F(CheckpointTest, ARunGoesOnWithItsOwnSamplesOnly) {
  TrainingPlan plan = plan_for("adam");
  plan.data_digest = "a";
  const std::string good = saved_by(plan, 1).at(3);
  EXPECT_EQ(decode_checkpoint(good, plan, "c").step, 3);
  plan.data_digest = "b";
  EXPECT_THAT(refusal([&] { decode_checkpoint(good, plan, "c"); }),
              HasSubstr("c was saved with digest of the data 'a'; this run has 'b'"));
  plan.data_digest = "";  // of an evaluator
  EXPECT_EQ(decode_checkpoint(good, plan, "c").step, 3);
}

TEST_F(CheckpointTest, AnotherDivisionOfTheDataBeginsWhereAPassHasEnded) {
  TrainingPlan plan = plan_for("adam");
  plan.data_division = "file among 2 workers";
  plan.steps_per_pass = 3;
  auto saved = saved_by(plan, 1);
  const std::string ended = saved.at(3);
  const std::string within = saved.at(2);
  plan.data_division = "file among 3 workers";
  EXPECT_EQ(decode_checkpoint(ended, plan, "c").step, 3);
  const auto why = [&](const std::string& file) {
    return refusal([&] { decode_checkpoint(file, plan, "c"); });
  };
  EXPECT_THAT(why(within), HasSubstr("'file among 3 workers'. They may differ only where a pass"));
  plan.steps_per_pass = 1;
  EXPECT_NE(why(ended), "") << "it would be the fourth pass";
  plan.steps_per_pass = 0;
  EXPECT_NE(why(ended), "");
}

TEST_F(CheckpointTest, FilesOfBeforeTheWireAndTheDataWereSavedAreRead) {
  TrainingPlan plan = plan_for("adam");
  SafeTensors file = parse_safetensors(saved_by(plan, 1).at(3), "c");
  file.metadata.erase("wire");
  file.metadata.erase("digest of the data");
  file.metadata.erase("crc32c");
  file.metadata["format"] = "collbench checkpoint 1";
  file.metadata["sharding"] = file.metadata["autoshard"];
  file.metadata.erase("autoshard");
  const std::string old = encode_safetensors(file);
  plan.data_digest = "a";
  plan.wire = DataType::f16;
  EXPECT_EQ(decode_checkpoint(old, plan, "c").step, 3);
  plan.sharding = AutoShard::off;
  EXPECT_THAT(refusal([&] { decode_checkpoint(old, plan, "c"); }),
              HasSubstr("c was saved with autoshard 'auto'; this run has 'off'"));
}

TEST_F(CheckpointTest, FilesOfBeforeThereWereChecksumsAreRead) {
  const TrainingPlan plan = plan_for("adam");
  const std::string text = saved_by(plan, 1).at(3);
  SafeTensors file = parse_safetensors(text, "c");
  file.metadata.erase("crc32c");
  EXPECT_THAT(refusal([&] { decode_checkpoint(encode_safetensors(file), plan, "c"); }),
              HasSubstr("c is damaged: it has no checksum"));
  file.metadata["format"] = "collbench checkpoint 1";
  EXPECT_EQ(decode_checkpoint(encode_safetensors(file), plan, "c").parameters,
            decode_checkpoint(text, plan, "c").parameters);
}

}  // namespace
}  // namespace collbench
