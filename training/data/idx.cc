// MNIST's IDX files: a magic number, big-endian dimensions, one byte for each value.

#include <fmt/format.h>

#include "core/error.h"
#include "core/input_file.h"
#include "training/data/dataset.h"

namespace collbench {
namespace {

std::uint32_t big_endian(std::string_view text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(text[at + i]);
  return value;
}

struct Idx {
  std::vector<std::int64_t> dimensions;
  std::string_view values;
};

Idx parse(std::string_view text, std::size_t dimensions, const std::string& what) {
  require(!text.starts_with("\x1f\x8b"),
          fmt::format("{} is compressed; unpack it with gunzip", what));
  const std::size_t header = 4 + 4 * dimensions;
  require(text.size() >= header, fmt::format("{}: {} bytes are too few for the header of {} bytes",
                                             what, text.size(), header));
  const auto magic = static_cast<std::uint32_t>(0x800 + dimensions);
  require(big_endian(text, 0) == magic, fmt::format("{} starts with 0x{:08x} instead of 0x{:08x}",
                                                    what, big_endian(text, 0), magic));
  Idx idx{{}, text.substr(header)};
  // More than the file holds is refused at each factor, so the product cannot overflow.
  std::int64_t total = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    idx.dimensions.push_back(big_endian(text, 4 + 4 * i));
    require(idx.dimensions.back() >= 1, fmt::format("{}: dimension {} is 0", what, i + 1));
    total *= idx.dimensions.back();
    require(total <= static_cast<std::int64_t>(idx.values.size()),
            fmt::format("{} is cut short: it holds {} values, fewer than its header announces",
                        what, idx.values.size()));
  }
  require(total == static_cast<std::int64_t>(idx.values.size()),
          fmt::format("{} holds {} bytes more than its header announces", what,
                      static_cast<std::int64_t>(idx.values.size()) - total));
  return idx;
}

}  // namespace

Dataset parse_idx(std::string_view images, std::string_view labels, const std::string& name) {
  constexpr int classes = 10;
  const std::string label_file = name + "-labels-idx1-ubyte";
  const Idx pixels = parse(images, 3, name + "-images-idx3-ubyte");
  const Idx answers = parse(labels, 1, label_file);
  require(pixels.dimensions[0] == answers.dimensions[0],
          fmt::format("{}: {} images but {} labels", name, pixels.dimensions[0],
                      answers.dimensions[0]));
  Dataset data;
  data.description = fmt::format("{} images of {}", pixels.dimensions[0], name);
  data.shape = {static_cast<int>(pixels.dimensions[1]), static_cast<int>(pixels.dimensions[2]), 1};
  data.classes = classes;
  for (const char value : answers.values) {
    const int label = static_cast<unsigned char>(value);
    require(label < classes, fmt::format("{}: label {} is not one of 0 to 9", label_file, label));
    data.labels.push_back(label);
  }
  data.images.reserve(pixels.values.size());
  for (const char value : pixels.values) {
    data.images.push_back(static_cast<float>(static_cast<unsigned char>(value)) / 255.0F);
  }
  return data;
}

Dataset mnist_dataset(const std::string& folder, std::string_view part) {
  const std::string stem = fmt::format("{}/{}", folder, part == "test" ? "t10k" : "train");
  const std::string images = read_file(stem + "-images-idx3-ubyte");
  Dataset data = parse_idx(images, read_file(stem + "-labels-idx1-ubyte"), stem);
  data.file_sizes = {data.size()};
  return data;
}

}  // namespace collbench
