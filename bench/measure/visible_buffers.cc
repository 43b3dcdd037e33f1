#include "bench/measure/visible_buffers.h"

#include <algorithm>
#include <cstring>

namespace collbench {

Region VisibleBuffers::mirror(Region region) {
  const auto bytes = static_cast<std::size_t>(region.size().count);
  mirror_.resize(std::max(mirror_.size(), bytes));
  return {mirror_.data(), region.count, region.type};
}

Region VisibleBuffers::readable(Region region) {
  if (copies_.download == nullptr) return region;
  const Region copy = mirror(region);
  copies_.download(copy.data, region.data, region.size());
  return copy;
}

void VisibleBuffers::fill(Region region, InputKind kind) {
  if (copies_.upload == nullptr) return inputs_.fill(region, kind);
  const Region copy = mirror(region);
  inputs_.fill(copy, kind);
  copies_.upload(region.data, copy.data, region.size());
}

std::int64_t VisibleBuffers::count_wrong_results(Region region) {
  return inputs_.count_wrong_results(readable(region));
}

std::int64_t VisibleBuffers::count_changed_inputs(Region region) {
  return inputs_.count_changed_inputs(readable(region));
}

std::uint64_t VisibleBuffers::hash(Region region) { return hash_bits(readable(region)); }

void VisibleBuffers::consume(Region region) {
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

}  // namespace collbench
