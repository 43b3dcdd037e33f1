// Fuzzes control messages: whatever comes is read without harm, ranks are in range, text is
// printable, and writing what was read gives the same meaning again.
#include <algorithm>

#include "tests/fuzz/fuzz_target.h"

#include "transports/grpc/control.h"

FUZZ_TARGET(wire_control, input) {
  using namespace collbench;
  if (input.size() < 2) return;
  const int ranks = 1 + byte_of(input, 0) * 17;
  const GrpcControl read = read_control(input.substr(1), ranks);
  for (const Rank rank : read.ranks) {
    if (rank < 0 || rank >= ranks) std::abort();
  }
  if (!std::is_sorted(read.ranks.begin(), read.ranks.end())) std::abort();
  if (std::any_of(read.text.begin(), read.text.end(), [](char c) { return c < ' ' || c > '~'; })) {
    std::abort();
  }
  if (read.kind == GrpcControl::Kind::unknown) return;
  const GrpcControl again = read_control(write_control(read), ranks);
  if (again.kind != read.kind || again.text != read.text || again.ranks != read.ranks) std::abort();
}
