// One entry of PyTorch's Flight Recorder as it is written, and what its words mean.
#pragma once

#include <cstdint>
#include <string_view>

#include "bench/logs/job_log.h"

namespace collbench {

/// The members of an entry that count: JSON, of which nothing is copied. Empty: not there.
struct FlightEntry {
  std::string_view group_number, group, name, state, sequence, transfer, is_transfer, duration_ms;
  std::string_view input_sizes, input_types, output_sizes, output_types;
};

/// Of a member that counts. Version 1 numbers transfers and collectives together.
void take_flight_member(std::string_view key, std::string_view value, bool is_first_version,
                        FlightEntry& entry);

RecordState flight_state(std::string_view state);

struct TensorSizes {
  std::int64_t bytes = 0;  // of all
  bool alike = true;       // each has as many
};
/// Of "[[6553600],[2,3]]" and ["Float","BFloat16"].
TensorSizes tensor_sizes(std::string_view sizes_text, std::string_view types_text);

}  // namespace collbench
