#include "bench/logs/flight_entry.h"

#include <array>

#include "bench/logs/log_readers.h"
#include "core/json.h"

namespace collbench {
namespace {

using nlohmann::json;

struct FlightMember {
  std::string_view key;
  std::string_view FlightEntry::*member;
};
constexpr std::array<FlightMember, 11> flight_members = {
    {{"pg_id", &FlightEntry::group_number},
     {"process_group", &FlightEntry::group},
     {"profiling_name", &FlightEntry::name},
     {"state", &FlightEntry::state},
     {"p2p_seq_id", &FlightEntry::transfer},
     {"is_p2p", &FlightEntry::is_transfer},
     {"duration_ms", &FlightEntry::duration_ms},
     {"input_sizes", &FlightEntry::input_sizes},
     {"input_dtypes", &FlightEntry::input_types},
     {"output_sizes", &FlightEntry::output_sizes},
     {"output_dtypes", &FlightEntry::output_types}}};

}  // namespace

void take_flight_member(std::string_view key, std::string_view value, bool is_first_version,
                        FlightEntry& entry) {
  for (const FlightMember& known : flight_members) {
    if (key == known.key) entry.*known.member = value;
  }
  if (key == (is_first_version ? "seq_id" : "collective_seq_id")) entry.sequence = value;
}

RecordState flight_state(std::string_view state) {
  if (state == "\"completed\"") return RecordState::completed;
  return state == "\"started\"" ? RecordState::started : RecordState::scheduled;
}

TensorSizes tensor_sizes(std::string_view sizes_text, std::string_view types_text) {
  const json sizes = try_parse_json<json>(sizes_text);
  const json types = try_parse_json<json>(types_text);
  if (!sizes.is_array()) return {};
  double bytes = 0;
  double first = 0;
  bool alike = true;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    double elements = 1;
    for (const json& extent : sizes[i]) elements *= extent.is_number() ? extent.get<double>() : 0;
    if (i == 0) first = elements;
    alike = alike && elements == first;
    int element = 0;
    if (types.is_array() && i < types.size() && types[i].is_string()) {
      element = element_bytes_of(types[i].get<std::string>());
    }
    bytes += elements * element;
  }
  return {bytes >= 0 && bytes < 1e15 ? static_cast<std::int64_t>(bytes) : 0, alike};
}

}  // namespace collbench
