#include "bench/measure/user_buffers.h"

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

// What a rank's cold buffers must exceed: the last-level cache, within reason. A virtual machine
// reports the whole socket's cache, of which few of its cores ever fill more than a part.
std::int64_t cache_bytes() {
  const std::int64_t reported = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return std::clamp<std::int64_t>(reported, std::int64_t{8} << 20, std::int64_t{64} << 20);
}

// Buffers start on their own cache line, large ones on their own page.
std::int64_t padded(std::int64_t bytes) {
  const std::int64_t grain = bytes >= 4096 ? 4096 : 64;
  return std::max<std::int64_t>((bytes + grain - 1) / grain * grain, grain);
}

int buffers_per_set(const Case& point) { return point.in_place ? 1 : 2; }

int set_count(const Case& point) {
  if (point.buffers != Buffers::cold) return 1;
  const std::int64_t set = padded(point.bytes.count) * buffers_per_set(point);
  return static_cast<int>(cache_bytes() / set) + 2;
}

}  // namespace

Bytes user_buffer_bytes(const Case& point) {
  return Bytes{padded(point.bytes.count)} * (buffers_per_set(point) * set_count(point));
}

void require_memory(const Case& point, Bytes available) {
  const std::int64_t width = size_of(point.type);
  require(point.bytes.count >= 0,
          fmt::format("a vector of {} bytes is impossible", point.bytes.count));
  require(point.bytes.count % width == 0,
          fmt::format("{} is not a whole number of {} elements of {} B", to_string(point.bytes),
                      to_string(point.type), width));
  const int buffers = buffers_per_set(point) * set_count(point);
  const double needed =
      static_cast<double>(point.workers) * buffers * static_cast<double>(padded(point.bytes.count));
  if (needed <= static_cast<double>(available.count)) return;
  throw Error(fmt::format(
      "{} with {} of {} each need {} of memory; {} are available", counted(point.workers, "worker"),
      counted(buffers, "buffer"), to_string(point.bytes),
      needed < 0x1p62 ? to_string(Bytes{static_cast<std::int64_t>(needed)}) : "more than 4 EiB",
      to_string(available)));
}

UserBuffers::UserBuffers(const Case& point, std::shared_ptr<std::byte> memory, MemoryCopies copies)
    : memory_(std::move(memory)),
      copies_(copies),
      count_(point.bytes.count / size_of(point.type)),
      type_(point.type),
      stride_(padded(point.bytes.count)),
      sets_(set_count(point)),
      in_place_(point.in_place) {}

Region UserBuffers::region(std::int64_t place) const {
  return {memory_.get() + place * stride_, count_, type_};
}

Region UserBuffers::in(std::int64_t index) const {
  return region(index % sets_ * (in_place_ ? 1 : 2));
}

Region UserBuffers::out(std::int64_t index) const {
  return in_place_ ? in(index) : region(index % sets_ * 2 + 1);
}

}  // namespace collbench
