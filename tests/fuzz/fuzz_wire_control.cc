// Fuzzes control messages: whatever comes is read without harm, ranks are in range, text is
// printable, and writing what was read gives the same meaning again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "transports/grpc/control.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace collbench;
  if (size < 2) return 0;
  const int ranks = 1 + data[0] * 17;
  const GrpcControl read =
      read_control(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1), ranks);
  for (const Rank rank : read.ranks) {
    if (rank < 0 || rank >= ranks) std::abort();
  }
  if (!std::is_sorted(read.ranks.begin(), read.ranks.end())) std::abort();
  if (std::any_of(read.text.begin(), read.text.end(), [](char c) { return c < ' ' || c > '~'; })) {
    std::abort();
  }
  if (read.kind == GrpcControl::Kind::unknown) return 0;
  const GrpcControl again = read_control(write_control(read), ranks);
  if (again.kind != read.kind || again.text != read.text || again.ranks != read.ranks) std::abort();
  return 0;
}
