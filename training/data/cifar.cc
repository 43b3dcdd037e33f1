// CIFAR-10's binary files: records of a label and 32x32 pixels, plane by plane.
#include <filesystem>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file_error.h"
#include "core/input_file.h"
#include "training/data/dataset.h"

namespace collbench {
namespace {

constexpr std::size_t side = 32;
constexpr std::size_t planes = 3;
constexpr std::size_t pixels = side * side;
constexpr std::size_t record = 1 + planes * pixels;

}  // namespace

void append_cifar10(std::string_view text, const std::string& name, Dataset& data) {
  constexpr int classes = 10;
  require(!text.starts_with("\x1f\x8b"),
          fmt::format("{}: this is compressed; unpack it with tar xzf", name));
  require(!text.empty() && text.size() % record == 0,
          fmt::format("{}: {} bytes are not a multiple of the {} bytes of a record: cut short, or "
                      "not in CIFAR-10's binary version",
                      name, text.size(), record));
  const std::size_t count = text.size() / record;
  for (std::size_t i = 0; i < count; ++i) {
    const int label = static_cast<unsigned char>(text[i * record]);
    require(label < classes,
            fmt::format("{}: label {} of record {} is not one of 0 to 9", name, label, i + 1));
  }
  data.shape = {side, side, planes};
  data.classes = classes;
  data.images.reserve(data.images.size() + count * planes * pixels);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view one = text.substr(i * record, record);
    data.labels.push_back(static_cast<unsigned char>(one[0]));
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t plane = 0; plane < planes; ++plane) {
        const auto value = static_cast<unsigned char>(one[1 + plane * pixels + pixel]);
        data.images.push_back(static_cast<float>(value) / 255.0F);
      }
    }
  }
}

Dataset cifar10_dataset(const std::string& folder, std::string_view part) {
  Dataset data;
  const auto append = [&](const std::string& file) {
    const std::string path = fmt::format("{}/{}.bin", folder, file);
    const std::int64_t before = data.size();
    append_cifar10(read_file(path), path, data);
    data.file_sizes.push_back(data.size() - before);
  };
  if (part == "test") {
    append("test_batch");
  } else {
    for (int i = 1; i <= 5; ++i) append(fmt::format("data_batch_{}", i));
  }
  data.description = fmt::format("{} images of CIFAR-10 in {}", data.size(), folder);
  return data;
}

Dataset dataset_in(const std::string& folder, std::string_view part) {
  std::error_code unreadable;  // the reader reports it
  const auto holds = [&](const char* file) {
    return std::filesystem::exists(std::filesystem::path(folder) / file, unreadable);
  };
  if (holds("data_batch_1.bin") || holds("test_batch.bin")) return cifar10_dataset(folder, part);
  if (holds("train-images-idx3-ubyte") || holds("t10k-images-idx3-ubyte")) {
    return mnist_dataset(folder, part);
  }
  if (!std::filesystem::is_directory(folder, unreadable)) {
    throw FileUnavailable(fmt::format("there is no folder '{}'", folder));
  }
  throw FileUnavailable(fmt::format(
      "the folder '{}' holds neither MNIST's unpacked IDX files (train-images-idx3-ubyte, ..) nor "
      "CIFAR-10's binary ones (data_batch_1.bin, ..)",
      folder));
}

}  // namespace collbench
