// The vectors that one rank of a benchmark reduces, and the memory they need.
//
// One input and one output (the same one in place), or for cold buffers enough of them that going
// round leaves nothing of the last round in the caches. Memory is checked before it is allocated: a
// case that does not fit is refused with the figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/records/case.h"
#include "transports/endpoint.h"
#include "transports/memory.h"

namespace collbench {

/// Bytes of user buffers of one rank, padding included.
Bytes user_buffer_bytes(const Case& point);

/// Throws Error, saying how much is needed and how much there is, if all ranks' buffers exceed
/// `available`; and InvalidArgument for a size that is negative or not a whole number of elements.
void require_memory(const Case& point, Bytes available);

/// Thread safety: belongs to its rank's thread.
class UserBuffers {
 public:
  /// `memory` holds user_buffer_bytes(which) bytes, aligned to 64.
  UserBuffers(const Case& point, std::shared_ptr<std::byte> memory, MemoryCopies copies = {});

  int sets() const { return sets_; }
  /// Buffers of set `index`, taken round and round.
  Region in(std::int64_t index) const;
  Region out(std::int64_t index) const;
  const MemoryCopies& copies() const { return copies_; }

 private:
  Region region(std::int64_t place) const;

  std::shared_ptr<std::byte> memory_;
  MemoryCopies copies_;
  std::int64_t count_;
  DataType type_;
  std::int64_t stride_;
  int sets_;
  bool in_place_;
};

}  // namespace collbench
