// Fuzzes the grammars a user types: sizes and algorithms with options.
//
// Any text is either refused with InvalidArgument or read into a value that, written out, is read
// back as the same value.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/units.h"

namespace {

void check(bool condition) {
  if (!condition) std::abort();
}

void read_size(const std::string& text) {
  collbench::Bytes size;
  try {
    size = collbench::parse_size(text);
  } catch (const collbench::InvalidArgument&) {
    return;
  }
  check(size.count >= 0 && size.count <= (std::int64_t{1} << 62));
  check(collbench::parse_size(std::to_string(size.count)) == size);
}

void read_algorithm(std::string_view text) {
  collbench::AlgorithmSpec spec;
  try {
    spec = collbench::parse_algorithm_spec(text);
  } catch (const collbench::InvalidArgument&) {
    return;
  }
  check(collbench::parse_algorithm_spec(collbench::to_string(spec)) == spec);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_size(text);
  read_algorithm(text);
  return 0;
}
