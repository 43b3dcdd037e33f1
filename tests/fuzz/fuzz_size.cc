// Fuzzes parse_size: any text is either refused with InvalidArgument, or read into a size in range
// that is read back the same when written out in bytes.
#include <string>

#include "tests/fuzz/fuzz_target.h"

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

}  // namespace

FUZZ_TARGET(size, input) { read_size(std::string(input)); }
