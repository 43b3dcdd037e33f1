#include "transports/endpoint.h"

namespace collbench {

std::byte* Endpoint::scratch(ScratchUse use, Bytes size) {
  std::vector<std::byte>& block = scratch_[static_cast<std::size_t>(use)];
  constexpr std::size_t line = 64;
  const std::size_t needed = static_cast<std::size_t>(size.count) + line;
  if (block.size() < needed) block.resize(needed);
  const auto address = reinterpret_cast<std::uintptr_t>(block.data());
  return block.data() + (line - address % line) % line;
}

}  // namespace collbench
