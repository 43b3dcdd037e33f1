// Algorithm names with options on any bytes, for a rank count taken from the first byte: they are
// refused with InvalidArgument or make a schedule that prints and parses as the same spec.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "algorithms/registry.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const collbench::AlgorithmSpec spec = collbench::parse_algorithm_spec(text);
    if (!(collbench::parse_algorithm_spec(collbench::to_string(spec)) == spec)) std::abort();
    const collbench::Schedule schedule = collbench::make_schedule(spec, 1 + data[0] % 40);
    collbench::Round round;
    for (int t = 0; t < schedule.rounds() && t < 8; ++t) {
      schedule.round(schedule.ranks() - 1, t, round);
    }
  } catch (const collbench::InvalidArgument&) {
    return 0;
  }
  return 0;
}
