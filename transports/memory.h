// Memory for the buffers of ranks.
#pragma once

#include <cstddef>
#include <memory>

#include "core/units.h"

namespace collbench {

/// Memory from the system: zero, aligned to 2 MiB with huge pages asked for where it is large,
/// given back with the last copy. Its pages are not touched yet: the first access decides where
/// they lie. Throws InvalidArgument if there is none.
std::shared_ptr<std::byte> allocate_pages(Bytes size);

/// Gives the whole pages of `data` back to the system; they are zero when next touched. Of memory
/// that is this process's alone.
void release_pages(std::byte* data, Bytes size);
/// How much of it lies in memory now, in whole pages.
Bytes resident_bytes(const std::byte* data, Bytes size);

/// How bytes get into memory that the processor cannot touch, and back; both are null where it can.
struct MemoryCopies {
  void (*upload)(std::byte* to, const std::byte* from, Bytes size) = nullptr;
  void (*download)(std::byte* to, const std::byte* from, Bytes size) = nullptr;
};

}  // namespace collbench
