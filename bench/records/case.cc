#include "bench/records/case.h"

#include <algorithm>

#include "core/require_known.h"

namespace collbench {

namespace {

constexpr std::string_view buffers_names[] = {"hot", "produced", "cold"};  // as the enumerators

}  // namespace

std::string_view to_string(Buffers buffers) {
  return buffers_names[static_cast<std::size_t>(buffers)];
}

Buffers parse_buffers(std::string_view name) {
  require_known("buffers", name, {std::begin(buffers_names), std::end(buffers_names)}, "mode");
  return static_cast<Buffers>(std::ranges::find(buffers_names, name) - buffers_names);
}

}  // namespace collbench
