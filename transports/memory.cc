#include "transports/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "core/error.h"

namespace collbench {

std::shared_ptr<std::byte> allocate_pages(Bytes size) {
  constexpr std::int64_t huge_page = std::int64_t{2} << 20;
  const bool large = size.count >= huge_page;
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(size.count, 1));
  const std::size_t mapped = bytes + (large ? static_cast<std::size_t>(huge_page) : 0);
  void* start = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(start != MAP_FAILED,
          "no memory for a buffer of " + to_string(size) + ": " + std::strerror(errno));
  auto address = reinterpret_cast<std::uintptr_t>(start);
  if (large) {
    constexpr auto page = static_cast<std::uintptr_t>(huge_page);
    address = (address + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(address), bytes, MADV_HUGEPAGE);  // a wish; may be refused
  }
  return {reinterpret_cast<std::byte*>(address),
          [start, mapped](std::byte*) { munmap(start, mapped); }};
}

}  // namespace collbench
