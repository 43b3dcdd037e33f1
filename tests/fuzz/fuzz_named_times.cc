// Fuzzes what `ab --read` reads: the first byte chooses the format, the rest is times of it or an
// InvalidArgument.
#include <array>
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "bench/foreign/named_times.h"
#include "core/error.h"

FUZZ_TARGET(named_times, input) {
  using namespace collbench;
  if (input.empty()) return;
  constexpr std::array<const char*, 6> formats = {"nccl-tests", "osu",       "imb",
                                                  "gbench",     "hyperfine", "csv:name,time,unit"};
  const std::string format = formats.at(byte_of(input, 0) % formats.size());
  const std::string_view text = input.substr(1);
  const TimesRequest request = parse_times_request("--read", format);
  try {
    for (const NamedTimes& one : read_named_times(request, text, "fuzz")) {
      if (one.name.empty() || one.ns.empty()) std::abort();
      for (const double ns : one.ns) {
        if (!(ns > 0 && ns < 1e18)) std::abort();
      }
    }
  } catch (const InvalidArgument&) {
    // Not of the format.
  } catch (const WrongResult&) {
    // The benchmark says that its result is wrong.
  }
}
