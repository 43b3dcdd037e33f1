// Fuzzes the reader of CIFAR-10's files: any file is either whole records, or an InvalidArgument
// that names the file and leaves no sample behind.
#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "training/data/dataset.h"

FUZZ_TARGET(cifar10, input) {
  collbench::Dataset set;
  try {
    collbench::append_cifar10(input, "fuzz", set);
    if (set.size() < 1 || set.images.size() != static_cast<std::size_t>(set.size()) * 3072) {
      std::abort();
    }
    for (const int label : set.labels) {
      if (label < 0 || label >= set.classes) std::abort();
    }
  } catch (const collbench::InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("fuzz:", 0) != 0 || set.size() != 0) std::abort();
  }
}
