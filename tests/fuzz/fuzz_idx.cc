// Fuzzes the reader of MNIST's files: any two files are either samples whose numbers agree, or an
// InvalidArgument that names the file. The first two bytes say how many of the rest are images.
#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "training/data/dataset.h"

FUZZ_TARGET(idx, input) {
  if (input.size() < 2) return;
  const std::string_view text = input.substr(2);
  const std::size_t images =
      collbench::byte_of(input, 0) + std::size_t{256} * collbench::byte_of(input, 1);
  if (images > text.size()) return;
  try {
    const collbench::Dataset set =
        collbench::parse_idx(text.substr(0, images), text.substr(images), "fuzz");
    if (set.size() < 1) std::abort();
    if (set.images.size() != static_cast<std::size_t>(set.size() * set.shape.size())) std::abort();
    for (const int label : set.labels) {
      if (label < 0 || label >= set.classes) std::abort();
    }
    for (const float value : set.images) {
      if (!(value >= 0 && value <= 1)) std::abort();
    }
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("fuzz", 0) != 0) std::abort();
  }
}
