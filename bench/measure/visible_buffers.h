// User buffers as the processor sees them: filled with inputs and read in place, or through a
// mirror in host memory where the processor cannot reach them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "algorithms/collective.h"
#include "transports/endpoint.h"
#include "transports/exact_check.h"
#include "transports/memory.h"

namespace collbench {

/// Thread safety: belongs to its rank's thread.
class VisibleBuffers {
 public:
  VisibleBuffers(const MemoryCopies& copies, const CheckInputs& inputs)
      : copies_(copies), inputs_(inputs) {}

  void fill(Region vector, InputKind kind) { fill(vector, kind, {0, vector.count}); }

  void fill(Region vector, InputKind kind, Elements part) {
    if (copies_.upload == nullptr) return inputs_.fill(vector, kind, part);
    const Region copy = mirror(vector);
    inputs_.fill(copy, kind, part);
    const Region filled = copy.part(part.first, part.count);
    copies_.upload(vector.part(part.first, part.count).data, filled.data, filled.size());
  }

  void put(Region vector, std::byte* content) {
    if (copies_.upload == nullptr) {
      std::memcpy(vector.data, content, static_cast<std::size_t>(vector.size().count));
    } else {
      copies_.upload(vector.data, content, vector.size());
    }
  }

  /// The region itself, or a copy of it.
  Region readable(Region region) {
    if (copies_.download == nullptr) return region;
    const Region copy = mirror(region);
    copies_.download(copy.data, region.data, region.size());
    return copy;
  }

  /// Reads every byte, as the consumer of a result does; nothing where only a device reads.
  void consume(Region region) {
    if (copies_.download != nullptr) return;
    const auto bytes = static_cast<std::size_t>(region.size().count);
    std::uint64_t sum = 0;
    std::size_t at = 0;
    for (std::uint64_t word = 0; at + sizeof word <= bytes; at += sizeof word) {
      std::memcpy(&word, region.data + at, sizeof word);
      sum += word;
    }
    for (; at < bytes; ++at) sum += std::to_integer<std::uint64_t>(region.data[at]);
    [[maybe_unused]] volatile std::uint64_t sink = sum;
  }

 private:
  Region mirror(Region region) {
    const auto bytes = static_cast<std::size_t>(region.size().count);
    mirror_.resize(std::max(mirror_.size(), bytes));
    return {mirror_.data(), region.count, region.type};
  }

  const MemoryCopies& copies_;
  const CheckInputs& inputs_;
  std::vector<std::byte> mirror_;
};

}  // namespace collbench
