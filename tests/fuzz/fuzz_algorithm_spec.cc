// Algorithm names with options on any bytes, for a rank count taken from the first byte: they are
// refused with InvalidArgument, ask for what is not there, or make a schedule that prints and
// parses as the same spec.
#include "tests/fuzz/fuzz_target.h"

#include "algorithms/registry.h"
#include "core/error.h"

FUZZ_TARGET(algorithm_spec, input) {
  if (input.empty()) return;
  const std::string_view text = input.substr(1);
  try {
    const collbench::AlgorithmSpec spec = collbench::parse_algorithm_spec(text);
    if (!(collbench::parse_algorithm_spec(collbench::to_string(spec)) == spec)) std::abort();
    const collbench::Schedule schedule =
        collbench::make_schedule(spec, 1 + collbench::byte_of(input, 0) % 40);
    collbench::Round round;
    for (int t = 0; t < schedule.rounds() && t < 8; ++t) {
      schedule.round(schedule.ranks() - 1, t, round);
    }
  } catch (const collbench::InvalidArgument&) {
    return;
  } catch (const collbench::Unavailable&) {
    return;  // "file:" and a name, or "synth", which this program has no maker for
  }
}
