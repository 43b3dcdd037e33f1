// The pieces into which both sides cut a message, and staging memory for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transports/memory.h"

namespace collbench {

struct MessagePiece {
  static constexpr std::int64_t most_bytes = std::int64_t{128} << 10;  // whole elements

  MessagePiece(std::int64_t bytes, std::int64_t number)
      : first(number * most_bytes), count(static_cast<int>(std::min(most_bytes, bytes - first))) {}
  std::int64_t first;
  int count;  // bytes
};

constexpr std::int64_t pieces_of(std::int64_t bytes) {
  return (bytes + MessagePiece::most_bytes - 1) / MessagePiece::most_bytes;
}

/// Memory for one piece at a time, the last given back first: it is in the cache still.
class PieceMemory {
 public:
  std::byte* take() {
    if (free_.empty()) {
      memory_.push_back(allocate_pages({MessagePiece::most_bytes}));
      free_.push_back(memory_.back().get());
    }
    std::byte* const piece = free_.back();
    free_.pop_back();
    return piece;
  }
  void give_back(const std::vector<std::byte*>& pieces) {
    free_.insert(free_.end(), pieces.begin(), pieces.end());
  }

 private:
  std::vector<std::byte*> free_;
  std::vector<std::shared_ptr<std::byte>> memory_;
};

}  // namespace collbench
