// Labelled samples in memory: synthetic ones, MNIST from its IDX files, or
// CIFAR-10 from its binary ones.
//
// The synthetic ones are no natural images. Each class has a pattern (two plane waves drawn from
// the seed), and a sample is its class's pattern plus uniform noise: a model that learns nothing
// stays at 1 / classes, one that learns reaches nearly 1. They show that training works, not how
// well a model does on real data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "training/engines/engine.h"
#include "training/model.h"

namespace collbench {

struct Dataset {
  std::string description;
  SampleShape shape;
  int classes = 0;
  std::vector<float> images;  // size() x shape.size(), values about 0 to 1
  std::vector<int> labels;
  std::vector<std::int64_t> file_sizes;  // samples of each file, in order; empty: made in memory
  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

/// 16 hexadecimal digits, equal for equal samples.
std::string digest_of(const Dataset& data);

/// `count` samples, classes in turn. Sets of one seed with different parts ("train", "test") have
/// the same patterns and different noise. Throws InvalidArgument if there would be none, and
/// Unavailable if they need more memory than there is.
Dataset synthetic_dataset(const SampleShape& shape, int classes, std::int64_t count,
                          std::uint64_t seed, std::string_view part);

/// Reads the content of an IDX file of images (type 0x08, 3 dimensions) and one of labels (1
/// dimension) into 10 classes; values are divided by 255. `name` is what the names of the two files
/// begin with, which lead the messages of the InvalidArgument that is thrown for anything else.
/// Source of the format: LeCun, Cortes and Burges, "The MNIST database", file formats.
Dataset parse_idx(std::string_view images, std::string_view labels, const std::string& name);

/// The files {train,t10k}-{images-idx3,labels-idx1}-ubyte of `folder`; `part` is "train" or "test".
/// Throws Unavailable if one cannot be read, and as parse_idx() does.
Dataset mnist_dataset(const std::string& folder, std::string_view part);

/// Appends the records of one CIFAR-10 file in its binary version, of any number; values are
/// divided by 255. `name` leads the messages of the InvalidArgument that is thrown for anything
/// else, which leaves `data` as it was. Source of the format: Krizhevsky, "The CIFAR-10 dataset",
/// binary version.
void append_cifar10(std::string_view text, const std::string& name, Dataset& data);

/// The files data_batch_1.bin to data_batch_5.bin ("train") or test_batch.bin ("test") of `folder`.
/// Throws Unavailable if one cannot be read, and as append_cifar10() does.
Dataset cifar10_dataset(const std::string& folder, std::string_view part);

/// CIFAR-10 if the folder holds a file of that name, otherwise MNIST. Throws as they do, and
/// Unavailable if there is no such folder or no such file in it.
Dataset dataset_in(const std::string& folder, std::string_view part);

}  // namespace collbench
