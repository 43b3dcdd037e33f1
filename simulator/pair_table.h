// A hash table from pairs of numbers, (rank, round) or (rank, peer), to small values.
#pragma once

#include <cassert>
#include <cstdint>
#include <utility>
#include <vector>

namespace collbench {

/// Open addressing with linear probing; erasing moves later entries up, so that nothing wears out.
/// Pointers hold until the next insertion or erasure. Thread safety: belongs to one thread.
template <typename Value>
class PairTable {
 public:
  std::size_t size() const { return size_; }

  /// Null if the pair has no value, as (-1, -1) must not have.
  Value* find(std::int32_t a, std::int32_t b) {
    if (size_ == 0) return nullptr;
    const std::size_t i = place(key(a, b));
    return entries_[i].key == vacant ? nullptr : &entries_[i].value;
  }

  /// The value of the pair, made if there is none.
  Value& operator()(std::int32_t a, std::int32_t b) {
    if (2 * (size_ + 1) > entries_.size()) grow();
    const std::size_t i = place(key(a, b));
    if (entries_[i].key == vacant) {
      entries_[i] = {key(a, b), Value{}};
      ++size_;
    }
    return entries_[i].value;
  }

  /// Requires that the pair has a value.
  void erase(std::int32_t a, std::int32_t b) {
    std::size_t hole = place(key(a, b));
    assert(entries_[hole].key != vacant);
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t i = (hole + 1) & mask; entries_[i].key != vacant; i = (i + 1) & mask) {
      // An entry may move into the hole unless its home lies behind it, in (hole, i].
      const std::size_t home = hash(entries_[i].key) & mask;
      if (((i - home) & mask) < ((i - hole) & mask)) continue;
      entries_[hole] = entries_[i];
      hole = i;
    }
    entries_[hole].key = vacant;
    --size_;
  }

 private:
  struct Entry {
    std::uint64_t key = vacant;
    Value value{};
  };
  static constexpr std::uint64_t vacant = ~std::uint64_t{0};

  static std::uint64_t key(std::int32_t a, std::int32_t b) {
    return std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b);
  }
  static std::size_t hash(std::uint64_t key) {
    const std::uint64_t mixed = key * 0x9e3779b97f4a7c15u;
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
  std::size_t place(std::uint64_t wanted) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t i = hash(wanted) & mask;
    while (entries_[i].key != wanted && entries_[i].key != vacant) i = (i + 1) & mask;
    return i;
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 64 : 2 * entries_.size());
    std::swap(old, entries_);
    for (const Entry& entry : old) {
      if (entry.key != vacant) entries_[place(entry.key)] = entry;
    }
  }

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

}  // namespace collbench
