#include "transports/grpc/intake.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "transports/kernels/kernels.h"

namespace collbench {

namespace {

constexpr Rank own_term = -1;

bool same(const Region& a, const Region& b) {
  return a.data == b.data && a.count == b.count && a.type == b.type;
}

}  // namespace

void ByteQueue::push(std::span<const std::byte> piece, std::shared_ptr<const void> keeper) {
  if (piece.empty()) return;
  size_ += static_cast<std::int64_t>(piece.size());
  pieces_.push_back({piece, std::move(keeper)});
}

std::span<const std::byte> ByteQueue::front() const {
  return pieces_.empty() ? std::span<const std::byte>() : pieces_.front().bytes;
}

void ByteQueue::peek(std::span<std::byte> to) const {
  assert(size_ >= static_cast<std::int64_t>(to.size()));
  for (auto piece = pieces_.begin(); !to.empty(); ++piece) {
    const std::size_t n = std::min(to.size(), piece->bytes.size());
    std::memcpy(to.data(), piece->bytes.data(), n);
    to = to.subspan(n);
  }
}

void ByteQueue::consume(std::int64_t bytes) {
  assert(size_ >= bytes);
  size_ -= bytes;
  while (bytes > 0) {
    Piece& piece = pieces_.front();
    const std::size_t n = std::min(static_cast<std::size_t>(bytes), piece.bytes.size());
    piece.bytes = piece.bytes.subspan(n);
    bytes -= static_cast<std::int64_t>(n);
    if (piece.bytes.empty()) pieces_.pop_front();
  }
}

Intake::Intake(Rank rank, int ranks)
    : rank_(rank),
      queues_(static_cast<std::size_t>(ranks)),
      lines_(static_cast<std::size_t>(ranks)),
      carry_(static_cast<std::size_t>(ranks) * widest_element) {}

Intake::Slot Intake::post(Region own, Region into) {
  const Slot slot = receives_.take();
  Receive& receive = receives_[slot];
  receive.active = true;
  receive.serial = ++serial_;
  receive.applied = 0;
  receive.own = own;
  receive.into = into;
  receive.order.clear();
  order_after_overlaps(receive);
  active_.push_back(slot);
  return slot;
}

void Intake::order_after_overlaps(Receive& receive) {
  receive.after.clear();
  for (const Slot slot : active_) {
    const Receive& earlier = receives_[slot];
    const bool touches = overlap(receive.into, earlier.into) ||
                         overlap(receive.into, earlier.own) || overlap(receive.own, earlier.into);
    if (!touches) continue;
    const bool aligned = earlier.fold && receive.fold && same(receive.into, earlier.into) &&
                         same(receive.own, earlier.own) && same(receive.own, receive.into);
    receive.after.push_back({slot, earlier.serial, aligned});
  }
}

Intake::Slot Intake::post_copy(Rank from, Region into) {
  const Slot slot = post(into, into);
  Receive& receive = receives_[slot];
  receive.fold = false;
  receive.order.push_back(from);
  lines_[static_cast<std::size_t>(from)].push_back(slot);
  return slot;
}

Intake::Slot Intake::post_fold(std::span<const Rank> sources, Region own, Region into,
                               Reduction reduction) {
  const Slot slot = post(own, into);
  Receive& receive = receives_[slot];
  receive.fold = true;
  receive.reduction = reduction;
  if (std::find(sources.begin(), sources.end(), rank_) == sources.end()) {
    receive.order.push_back(own_term);
  }
  for (const Rank source : sources) {
    receive.order.push_back(source == rank_ ? own_term : source);
    if (source != rank_) lines_[static_cast<std::size_t>(source)].push_back(slot);
  }
  receive.terms.resize(receive.order.size());
  return slot;
}

bool Intake::settle() {
  bool moved = false;
  bool finished_any = false;
  // One pass is enough: a receive only ever waits for bytes, or for one posted before it.
  for (const Slot slot : active_) {
    moved |= step(slot);
    finished_any |= !receives_[slot].active;
  }
  if (finished_any) std::erase_if(active_, [this](Slot slot) { return finished(slot); });
  return moved;
}

bool Intake::leads(Slot slot) const {
  for (const Rank source : receives_[slot].order) {
    if (source != own_term && lines_[static_cast<std::size_t>(source)].front() != slot) {
      return false;
    }
  }
  return true;
}

std::int64_t Intake::limit(const Receive& receive) const {
  std::int64_t most = receive.fold ? receive.into.count : receive.into.size().count;
  for (const auto& [slot, serial, aligned] : receive.after) {
    const Receive& earlier = receives_[slot];
    if (!earlier.active || earlier.serial != serial) continue;
    most = std::min(most, aligned ? earlier.applied : 0);
  }
  return most;
}

bool Intake::step(Slot slot) {
  Receive& receive = receives_[slot];
  if (!leads(slot)) return false;
  const bool moved = receive.fold ? step_fold(receive) : step_copy(receive);
  end_if_complete(receive);
  return moved;
}

bool Intake::end_if_complete(Receive& receive) {
  if (receive.applied < (receive.fold ? receive.into.count : receive.into.size().count)) {
    return false;
  }
  receive.active = false;
  for (const Rank source : receive.order) {
    if (source != own_term) lines_[static_cast<std::size_t>(source)].pop_front();
  }
  return true;
}

std::span<std::byte> Intake::room(Rank from) {
  if (!awaits(from) || queue(from).size() > 0) return {};
  Receive& receive = receives_[lines_[static_cast<std::size_t>(from)].front()];
  if (receive.fold) return {};
  return {receive.into.data + receive.applied,
          static_cast<std::size_t>(limit(receive) - receive.applied)};
}

void Intake::filled(Rank from, std::int64_t bytes) {
  const Slot slot = lines_[static_cast<std::size_t>(from)].front();
  receives_[slot].applied += bytes;
  if (end_if_complete(receives_[slot])) std::erase(active_, slot);
}

bool Intake::step_copy(Receive& receive) {
  ByteQueue& from = queue(receive.order.front());
  const std::int64_t most = limit(receive);
  const std::int64_t before = receive.applied;
  while (receive.applied < most && from.size() > 0) {
    const std::span<const std::byte> piece = from.front();
    const auto n = std::min(most - receive.applied, static_cast<std::int64_t>(piece.size()));
    copy(receive.into.data + receive.applied, piece.data(), n);
    from.consume(n);
    receive.applied += n;
  }
  return receive.applied != before;
}

bool Intake::step_fold(Receive& receive) {
  const int width = size_of(receive.into.type);
  const std::int64_t most = limit(receive);
  const std::int64_t before = receive.applied;
  while (receive.applied < most) {
    const std::int64_t n = gather_terms(receive, most - receive.applied);
    if (n == 0) break;
    std::byte* const into = receive.into.data + receive.applied * width;
    reduce(receive.into.type, receive.reduction, receive.terms, {&into, 1}, n);
    for (const Rank source : receive.order) {
      if (source != own_term) queue(source).consume(n * width);
    }
    receive.applied += n;
  }
  return receive.applied != before;
}

// Points the terms at the next elements and returns for how many of them, at most `most`; 0 if some
// source has not sent one whole element.
std::int64_t Intake::gather_terms(Receive& receive, std::int64_t most) {
  const int width = size_of(receive.into.type);
  for (std::size_t i = 0; i < receive.order.size(); ++i) {
    const Rank source = receive.order[i];
    if (source == own_term) {
      receive.terms[i] = receive.own.data + receive.applied * width;
      continue;
    }
    const ByteQueue& from = queue(source);
    const auto whole = static_cast<std::int64_t>(from.front().size()) / width;
    if (whole > 0) {
      receive.terms[i] = from.front().data();
      most = std::min(most, whole);
    } else if (from.size() >= width) {
      const std::span<std::byte> element(carry_.data() + i * widest_element,
                                         static_cast<std::size_t>(width));
      from.peek(element);
      receive.terms[i] = element.data();
      most = std::min<std::int64_t>(most, 1);
    } else {
      return 0;
    }
  }
  return most;
}

Intake::Lack Intake::lack(Slot slot) const {
  const Receive& receive = receives_[slot];
  const int width = receive.fold ? size_of(receive.into.type) : 1;
  const std::int64_t missing =
      receive.into.count * (receive.fold ? width : size_of(receive.into.type)) -
      receive.applied * width;
  Lack scarcest;
  std::int64_t least = missing;
  for (const Rank source : receive.order) {
    if (source == own_term) continue;
    const std::int64_t held = queues_[static_cast<std::size_t>(source)].size();
    if (held < least) {
      least = held;
      scarcest = {source, {missing - held}};
    }
  }
  return scarcest;
}

}  // namespace collbench
