#include "training/event_file.h"

#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/output_file.h"

namespace collbench {
namespace {

// Wire types of protocol buffers.
constexpr int varint = 0;
constexpr int eight_bytes = 1;
constexpr int counted_bytes = 2;
constexpr int four_bytes = 5;

template <class T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string varint_of(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes += static_cast<char>(value);
}

std::string key(int field, int wire_type) {
  return varint_of(static_cast<std::uint64_t>(field << 3 | wire_type));
}

std::string field_of(int field, std::string_view bytes) {
  return key(field, counted_bytes) + varint_of(bytes.size()) + std::string(bytes);
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// As TFRecord stores it: rotated by 15 bits and shifted by a constant.
// Source: tensorflow/core/lib/hash/crc32c.h.
std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t sum = crc32c(bytes);
  return ((sum >> 15) | (sum << 17)) + 0xA282EAD8U;
}

std::string event_at(double time) { return key(1, eight_bytes) + little_endian(time); }

}  // namespace

EventFile::EventFile(const std::string& folder) {
  make_folder(folder);
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const double now = wall_time();
  path_ = fmt::format("{}/events.out.tfevents.{}.{}.{}", folder, static_cast<std::int64_t>(now),
                      host, getpid());
  file_.open(path_, std::ios::binary | std::ios::app);
  append(event_at(now) + field_of(3, "brain.Event:2"));
}

void EventFile::add(std::int64_t step, const std::vector<Scalar>& scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    const std::string value = field_of(1, scalar.tag) + key(2, four_bytes) +
                              little_endian(static_cast<float>(scalar.value));
    summary += field_of(1, value);
  }
  append(event_at(wall_time()) + key(2, varint) + varint_of(static_cast<std::uint64_t>(step)) +
         field_of(5, summary));
}

void EventFile::append(std::string_view event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  file_ << length << little_endian(masked_crc32c(length)) << event
        << little_endian(masked_crc32c(event)) << std::flush;
  if (!file_) throw FileUnavailable(fmt::format("cannot write the event file '{}'", path_));
}

}  // namespace collbench
