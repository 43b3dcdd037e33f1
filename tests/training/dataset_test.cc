#include "training/data/dataset.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string idx_header(std::initializer_list<int> bytes) { return {bytes.begin(), bytes.end()}; }

/// Two images of 2x3 pixels, and their labels.
std::string images() {
  return idx_header({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3}) + "abcdefghijk\xff";
}
std::string labels() { return idx_header({0, 0, 8, 1, 0, 0, 0, 2, 9, 0}); }

TEST(DatasetTest, ReadsIdxImagesAndLabels) {
  const Dataset data = parse_idx(images(), labels(), "toy");
  EXPECT_EQ(data.shape, (SampleShape{2, 3, 1}));
  EXPECT_THAT(data.labels, testing::ElementsAre(9, 0));
  ASSERT_EQ(data.images.size(), 12U);
  EXPECT_FLOAT_EQ(data.images[0], 'a' / 255.0F);
  EXPECT_FLOAT_EQ(data.images[11], 1);
}

TEST(DatasetTest, RefusesDamagedIdxFilesAndSaysWhere) {
  const auto refuses = [](const std::string& first, const std::string& second, const char* text) {
    EXPECT_THAT([&] { parse_idx(first, second, "toy"); },
                ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  };
  refuses(images().substr(0, 10), labels(), "toy-images-idx3-ubyte: 10 bytes are too few");
  refuses(images().substr(0, 20), labels(), "toy-images-idx3-ubyte is cut short");
  refuses(images() + "x", labels(), "1 bytes more than its header");
  refuses(labels() + "123456", labels(), "starts with 0x00000801 instead of 0x00000803");
  refuses("\x1f\x8b zipped", labels(), "unpack it with gunzip");
  refuses(images(), idx_header({0, 0, 8, 1, 0, 0, 0, 1, 3}), "2 images but 1 labels");
  refuses(images(), idx_header({0, 0, 8, 1, 0, 0, 0, 2, 3, 10}), "label 10 is not one of 0 to 9");
  refuses(images(), idx_header({0, 0, 8, 1, 0, 0, 0, 0}), "dimension 1 is 0");
  refuses(idx_header({0, 0, 8, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}), labels(),
          "is cut short");
}

TEST(DatasetTest, ReadsMnistFromAFolderAndNamesAMissingFile) {
  const std::string folder = testing::TempDir() + "collbench_mnist_of_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/t10k-images-idx3-ubyte", std::ios::binary) << images();
  std::ofstream(folder + "/t10k-labels-idx1-ubyte", std::ios::binary) << labels();
  EXPECT_EQ(mnist_dataset(folder, "test").size(), 2);
  EXPECT_THAT([&] { mnist_dataset(folder, "train"); },
              ThrowsMessage<Unavailable>(HasSubstr(folder + "/train-images-idx3-ubyte")));
  EXPECT_EQ(dataset_in(folder, "test").size(), 2);
  std::filesystem::remove_all(folder);
  EXPECT_THAT([&] { dataset_in(folder, "test"); },
              ThrowsMessage<Unavailable>(HasSubstr("there is no folder '" + folder)));
}

/// One record: a label, then planes of one value each.
std::string record(int label, const char* values) {
  std::string text(1, static_cast<char>(label));
  for (int plane = 0; plane < 3; ++plane) text.append(1024, values[plane]);
  return text;
}

TEST(DatasetTest, ReadsCifar10RecordsIntoPixelsOfThreeChannels) {
  Dataset data;
  append_cifar10(record(9, "abc") + record(0, "xyz"), "toy", data);
  append_cifar10(record(3, "ABC"), "toy", data);
  EXPECT_EQ(data.shape, (SampleShape{32, 32, 3}));
  EXPECT_THAT(data.labels, testing::ElementsAre(9, 0, 3));
  ASSERT_EQ(data.images.size(), 3U * 3072);
  EXPECT_FLOAT_EQ(data.images[4], 'b' / 255.0F);
  EXPECT_FLOAT_EQ(data.images[3 * 3072 - 1], 'C' / 255.0F);
}

TEST(DatasetTest, RefusesWhatIsNoCifar10AndKeepsWhatItHad) {
  Dataset data;
  append_cifar10(record(1, "abc"), "toy", data);
  const auto refuses = [&data](const std::string& text, const char* message) {
    EXPECT_THAT([&] { append_cifar10(text, "toy", data); },
                ThrowsMessage<InvalidArgument>(HasSubstr(message)));
    EXPECT_EQ(data.size(), 1);
    EXPECT_EQ(data.images.size(), 3072U);
  };
  refuses("", "toy: 0 bytes are not a multiple of the 3073 bytes of a record");
  refuses(record(1, "abc") + "x", "3074 bytes are not");
  refuses(record(1, "abc") + record(10, "abc"), "label 10 of record 2 is not one of 0 to 9");
  refuses("\x1f\x8b zipped", "unpack it with tar xzf");
}

TEST(DatasetTest, AFolderIsCifar10IfItHasItsFiles) {
  const std::string folder = testing::TempDir() + "collbench_cifar_of_test";
  std::filesystem::create_directories(folder);
  EXPECT_THAT([&] { dataset_in(folder, "train"); },
              ThrowsMessage<Unavailable>(HasSubstr("holds neither MNIST's")));
  std::ofstream(folder + "/test_batch.bin", std::ios::binary) << record(2, "abc");
  EXPECT_EQ(dataset_in(folder, "test").size(), 1);
  EXPECT_THAT([&] { dataset_in(folder, "train"); },
              ThrowsMessage<Unavailable>(HasSubstr(folder + "/data_batch_1.bin")));
  std::filesystem::remove_all(folder);
}

TEST(DatasetTest, SyntheticPartsShareTheirPatternsButNoSample) {
  const Dataset train = synthetic_dataset({4, 4, 1}, 2, 400, 1, "train");
  const Dataset test = synthetic_dataset({4, 4, 1}, 2, 400, 1, "test");
  EXPECT_EQ(train.images, synthetic_dataset({4, 4, 1}, 2, 400, 1, "train").images);
  EXPECT_NE(train.images, test.images);
  const auto mean_of_first_class = [](const Dataset& data) {
    std::vector<double> mean(16);
    for (std::size_t i = 0; i < 400; i += 2) {
      for (std::size_t j = 0; j < 16; ++j) mean[j] += data.images[i * 16 + j] / 200;
    }
    return mean;
  };
  // The noise of 200 samples has a standard error of 0.02.
  EXPECT_THAT(mean_of_first_class(train),
              testing::Pointwise(testing::DoubleNear(0.15), mean_of_first_class(test)));
}

TEST(DatasetTest, TheDigestTellsEverySampleApart) {
  const Dataset data = synthetic_dataset({4, 3, 2}, 3, 9, 1, "train");
  EXPECT_EQ(digest_of(data), digest_of(synthetic_dataset({4, 3, 2}, 3, 9, 1, "train")));
  EXPECT_EQ(digest_of(data).size(), 16U);
  for (std::size_t i = 0; i < data.images.size(); i += 7) {
    Dataset other = data;
    other.images[i] = std::nextafter(other.images[i], 9.0F);
    EXPECT_NE(digest_of(other), digest_of(data)) << i;
  }
  Dataset other = data;
  std::swap(other.labels[0], other.labels[1]);
  EXPECT_NE(digest_of(other), digest_of(data));
}

TEST(DatasetTest, RefusesMoreSyntheticSamplesThanFitTheMemory) {
  EXPECT_THAT(
      [] {
        synthetic_dataset({1, 1, 1}, 1, std::int64_t{1} << 50, 1, "train");
      },
      ThrowsMessage<TransportError>(HasSubstr("of memory")));
  EXPECT_THAT(
      [] {
        synthetic_dataset({1, 1, 1}, 1, 0, 1, "train");
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("1 sample, not 1 and 0")));
}

}  // namespace
}  // namespace collbench
