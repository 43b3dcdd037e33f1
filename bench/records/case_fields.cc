#include "bench/records/case_fields.h"

#include <type_traits>

namespace collbench {
namespace {

std::string in_words(bool value) { return value ? "yes" : "no"; }
std::string in_words(const std::string& value) { return value; }
template <class Number>
requires std::is_integral_v<Number> std::string in_words(Number value) {
  return std::to_string(value);
}
template <class Named>
std::string in_words(Named value) {
  return std::string(to_string(value));
}

}  // namespace

std::string field_text(const CaseField<Case>& field, const Case& point) {
  return std::visit([&](auto member) { return in_words(point.*member); }, field.member);
}

std::span<const CaseField<Case>> case_fields() {
  static const CaseField<Case> fields[] = {
      {"algorithm", "algorithm", &Case::algorithm},
      {"backend", "back end", &Case::backend},
      {"workers", "workers", &Case::workers},
      {"size_bytes", "size", &Case::bytes},
      {"data_type", "data type", &Case::type},
      {"op", "operator", &Case::op},
      {"in_place", "in place", &Case::in_place},
      {"buffers", "buffers", &Case::buffers},
      {"isolate", "isolation", &Case::isolate},
      {"private_buffers", "private buffers", &Case::private_buffers},
      {"transport", "transport", &Case::transport},
      {"checksum", "checksum", &Case::checksum, true},
      {"inject", "injected faults", &Case::inject, true},
      {"devices", "devices", &Case::devices, true},
  };
  return fields;
}

std::span<const CaseField<Simulated>> simulated_fields() {
  static const CaseField<Simulated> fields[] = {
      {"topology", "topology", &Simulated::topology},
      {"engine", "engine", &Simulated::engine},
      {"posting", "posting", &Simulated::posting},
      {"mapping", "mapping", &Simulated::mapping},
      {"protocol", "protocol", &Simulated::protocol},
      {"collective", "collective", &Simulated::collective},
      {"equal_chunks", "equal chunks", &Simulated::equal_chunks},
      {"real_data", "real data", &Simulated::real_data},
      {"jitter_us", "jitter", &Simulated::jitter},
      {"stragglers", "stragglers", &Simulated::stragglers},
      {"slow_hosts", "slow hosts", &Simulated::slow_hosts},
      {"seed", "seed", &Simulated::seed},
  };
  return fields;
}

}  // namespace collbench
