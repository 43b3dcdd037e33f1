#include "bench/records/case_fields.h"

#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::string_view buffers_names[] = {"hot", "produced", "cold"};  // as the enumerators

template <class Value>
std::string in_words(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return value ? "yes" : "no";
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return std::to_string(value);
  } else if constexpr (requires { to_string(value); }) {
    return std::string(to_string(value));
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return value;
  } else {
    return std::to_string(value.size());  // no case has a list
  }
}

}  // namespace

std::string_view to_string(Buffers buffers) {
  return buffers_names[static_cast<std::size_t>(buffers)];
}

Buffers parse_buffers(std::string_view name) {
  return static_cast<Buffers>(
      require_known("buffers", name, {std::begin(buffers_names), std::end(buffers_names)}, "mode"));
}

std::string field_text(const JsonField<Case>& field, const Case& point) {
  return std::visit([&](auto member) { return in_words(point.*member); }, field.member);
}

std::string field_text(const JsonField<Simulated>& field, const Simulated& simulated) {
  return std::visit([&](auto member) { return in_words(simulated.*member); }, field.member);
}

std::span<const JsonField<Case>> case_fields() {
  static const JsonField<Case> fields[] = {
      {"algorithm", &Case::algorithm, "algorithm"},
      {"backend", &Case::backend, "back end"},
      {"workers", &Case::workers, "workers"},
      {"size_bytes", &Case::bytes, "size"},
      {"data_type", &Case::type, "data type"},
      {"op", &Case::op, "operator"},
      {"in_place", &Case::in_place, "in place"},
      {"buffers", &Case::buffers, "buffers"},
      {"isolate", &Case::isolate, "isolation"},
      {"private_buffers", &Case::private_buffers, "private buffers"},
      {"transport", &Case::transport, "transport"},
      {"checksum", &Case::checksum, "checksum", true},
      {"inject", &Case::inject, "injected faults", true},
      {"devices", &Case::devices, "devices", true},
      {"collective", &Case::collective, "collective", true},
      {"root", &Case::root, "root", true},
      {"groups", &Case::groups, "groups", true},
      {"counts", &Case::counts, "counts", true},
      {"statistic", &Case::statistic, "statistic", true},
      {"calls", &Case::calls, "calls of a sample", true},
  };
  return fields;
}

std::span<const JsonField<Simulated>> simulated_fields() {
  static const JsonField<Simulated> fields[] = {
      {"topology", &Simulated::topology, "topology"},
      {"engine", &Simulated::engine, "engine"},
      {"posting", &Simulated::posting, "posting"},
      {"mapping", &Simulated::mapping, "mapping"},
      {"protocol", &Simulated::protocol, "protocol"},
      {"equal_chunks", &Simulated::equal_chunks, "equal chunks"},
      {"real_data", &Simulated::real_data, "real data"},
      {"jitter_us", &Simulated::jitter, "jitter"},
      {"stragglers", &Simulated::stragglers, "stragglers"},
      {"slow_hosts", &Simulated::slow_hosts, "slow hosts"},
      {"seed", &Simulated::seed, "seed"},
  };
  return fields;
}

}  // namespace collbench
