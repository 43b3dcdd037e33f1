#include "transports/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"

namespace collbench {
namespace {

struct Pages {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t size = 0;
};

/// Those that lie wholly within.
Pages pages_within(const std::byte* data, Bytes size) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (first + page - 1) / page * page;
  const std::uintptr_t end = (first + static_cast<std::uintptr_t>(size.count)) / page * page;
  return {begin, std::max(begin, end), page};
}

}  // namespace

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

void release_pages(std::byte* data, Bytes size) {
  const Pages pages = pages_within(data, size);
  if (pages.begin == pages.end) return;
  madvise(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, MADV_DONTNEED);
}

Bytes resident_bytes(const std::byte* data, Bytes size) {
  const Pages pages = pages_within(data, size);
  if (pages.begin >= pages.end) return size;
  std::vector<unsigned char> resident((pages.end - pages.begin) / pages.size);
  if (mincore(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, resident.data()) !=
      0) {
    return size;
  }
  const auto absent = std::ranges::count_if(resident, [](unsigned char p) { return (p & 1) == 0; });
  return size - Bytes{static_cast<std::int64_t>(pages.size)} * absent;
}

}  // namespace collbench
