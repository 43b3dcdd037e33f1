#include "bench/records/case.h"

#include "core/suggest.h"

namespace collbench {

namespace {

constexpr std::string_view buffers_names[] = {"hot", "produced", "cold"};  // as the enumerators

}  // namespace

std::string_view to_string(Buffers buffers) {
  return buffers_names[static_cast<std::size_t>(buffers)];
}

Buffers parse_buffers(std::string_view name) {
  return static_cast<Buffers>(
      require_known("buffers", name, {std::begin(buffers_names), std::end(buffers_names)}, "mode"));
}

}  // namespace collbench
