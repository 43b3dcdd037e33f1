#include "bench/micro/handwritten.h"

#include <algorithm>
#include <array>
#include <utility>

#include <sched.h>

#include "transports/kernels/kernels.h"

namespace collbench {

namespace {

constexpr int tree_segments = 8;

void await(const std::atomic<std::int64_t>& flag, std::int64_t value) {
  for (int i = 0; flag.load(std::memory_order_acquire) < value; ++i) {
    if (i > 50) sched_yield();
  }
}

// Piece i of n: boundaries on cache lines, as schedules cut large buffers.
Region piece(Region whole, std::int64_t i, std::int64_t n) {
  const std::int64_t lines = whole.count / 16;
  const std::int64_t first = lines * i / n * 16;
  const std::int64_t last = i + 1 == n ? whole.count : lines * (i + 1) / n * 16;
  return whole.part(first, last - first);
}

// The same elements in a peer's buffer.
std::byte* same(Region mine, const std::byte* own, std::byte* peer) {
  return peer + (mine.data - own);
}

void add(Region mine, std::byte* peer) {
  const std::array<const std::byte*, 2> sources{mine.data, peer};
  collbench::reduce(mine.type, {}, sources, {&mine.data, 1}, mine.count);
}

}  // namespace

Handwritten::Handwritten(std::string name, HandwrittenGroup& group, Rank rank)
    : name_(std::move(name)), group_(group), rank_(rank) {}

void Handwritten::all_reduce(Region buffer) {
  if (name_ == "ring") ring(buffer);
  if (name_ == "tree") tree(buffer);
  if (name_ == "halving-doubling") halving_doubling(buffer);
}

void Handwritten::ring(Region buffer) {
  const int n = group_.ranks;
  auto& mine = group_.flags[static_cast<std::size_t>(rank_)];
  auto& previous = group_.flags[static_cast<std::size_t>((rank_ + n - 1) % n)];
  auto& next = group_.flags[static_cast<std::size_t>((rank_ + 1) % n)];
  mine.up.store(steps_ + 1, std::memory_order_release);
  for (int t = 0; t < 2 * (n - 1); ++t) {
    await(previous.up, steps_ + t + 1);  // step t of the previous rank's data is ready
    // Arithmetic of the schedule: chunk r - t - 1 is reduced, then chunk r - (t - n + 1) copied.
    const int chunk = t < n - 1 ? rank_ - t - 1 : rank_ - (t - n + 1);
    const Region target = piece(buffer, (chunk % n + n) % n, n);
    std::byte* const source = same(target, buffer.data, previous.data);
    if (t < n - 1) {
      add(target, source);
    } else {
      collbench::copy(target.data, source, target.size().count);
    }
    mine.up.store(steps_ + t + 2, std::memory_order_release);
  }
  steps_ += 2 * (n - 1) + 1;
  await(next.up, steps_);  // the next rank has read the last of my chunks
}

void Handwritten::tree(Region buffer) {
  const int n = group_.ranks;
  auto& mine = group_.flags[static_cast<std::size_t>(rank_)];
  std::vector<HandwrittenGroup::Flag*> children;
  for (const int child : {2 * rank_ + 1, 2 * rank_ + 2}) {
    if (child < n) children.push_back(&group_.flags[static_cast<std::size_t>(child)]);
  }
  for (int s = 0; s < tree_segments; ++s) {
    const Region target = piece(buffer, s, tree_segments);
    std::vector<const std::byte*> sources{target.data};
    for (const auto* child : children) {
      await(child->up, segments_ + s + 1);
      sources.push_back(same(target, buffer.data, child->data));
    }
    if (!children.empty()) {
      collbench::reduce(target.type, {}, sources, {&target.data, 1}, target.count);
    }
    mine.up.store(segments_ + s + 1, std::memory_order_release);
  }
  for (int s = 0; s < tree_segments; ++s) {
    if (rank_ != 0) {
      auto& parent = group_.flags[static_cast<std::size_t>((rank_ - 1) / 2)];
      await(parent.down, segments_ + s + 1);
      const Region target = piece(buffer, s, tree_segments);
      collbench::copy(target.data, same(target, buffer.data, parent.data), target.size().count);
    }
    mine.down.store(segments_ + s + 1, std::memory_order_release);
  }
  segments_ += tree_segments;
  for (const auto* child : children) await(child->down, segments_);
}

void Handwritten::halving_doubling(Region buffer) {
  const int n = group_.ranks;
  auto& mine = group_.flags[static_cast<std::size_t>(rank_)];
  mine.up.store(steps_ + 1, std::memory_order_release);
  int step = 0;
  const auto meet = [&](int distance) -> HandwrittenGroup::Flag& {
    auto& partner = group_.flags[static_cast<std::size_t>(rank_ ^ distance)];
    await(partner.up, steps_ + step + 1);
    return partner;
  };
  // Pieces [first, first + count) of n are this rank's share; it halves, then doubles again. As in
  // the schedule the largest exchange is with the nearest rank.
  int first = 0;
  int count = n;
  const auto share = [&] {
    const Region begin = piece(buffer, first, n);
    const Region end = piece(buffer, first + count - 1, n);
    return Region{begin.data, (end.data - begin.data) / 4 + end.count, buffer.type};
  };
  for (int distance = 1; distance < n; distance *= 2, ++step) {
    count /= 2;
    if ((rank_ & distance) != 0) first += count;
    auto& partner = meet(distance);
    add(share(), same(share(), buffer.data, partner.data));
    mine.up.store(steps_ + step + 2, std::memory_order_release);
  }
  for (int distance = n / 2; distance >= 1; distance /= 2, ++step) {
    const int own = first;
    first = (rank_ & distance) != 0 ? own - count : own + count;
    auto& partner = meet(distance);
    const Region theirs = share();
    collbench::copy(theirs.data, same(theirs, buffer.data, partner.data), theirs.size().count);
    mine.up.store(steps_ + step + 2, std::memory_order_release);
    first = std::min(own, first);
    count *= 2;
  }
  steps_ += step + 1;
  for (int distance = 1; distance < n; distance *= 2) {
    await(group_.flags[static_cast<std::size_t>(rank_ ^ distance)].up, steps_);
  }
}

}  // namespace collbench
