// An array of numbers whose first one lies at the start of a cache line, all 0 at first; a large
// one on huge pages of its own, where the system has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "transports/memory.h"

namespace collbench {

template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::int64_t size)
      : size_(size), data_(memory(Bytes{size * static_cast<std::int64_t>(sizeof(T))})) {}
  AlignedArray(AlignedArray&&) noexcept = default;
  AlignedArray& operator=(AlignedArray&&) noexcept = default;
  AlignedArray(const AlignedArray&) = delete;
  AlignedArray& operator=(const AlignedArray&) = delete;
  ~AlignedArray() = default;
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  static constexpr std::align_val_t line{64};
  static constexpr std::int64_t large = std::int64_t{2} << 20;

  static std::shared_ptr<T> memory(Bytes size) {
    if (size.count >= large) {
      const std::shared_ptr<std::byte> pages = allocate_pages(size);
      return {pages, reinterpret_cast<T*>(pages.get())};
    }
    const auto bytes = static_cast<std::size_t>(size.count);
    auto* const data = static_cast<T*>(::operator new[](bytes, line));
    std::fill_n(data, bytes / sizeof(T), T{0});
    return {data, [](T* all) { ::operator delete[](all, line); }};
  }

  std::int64_t size_ = 0;
  std::shared_ptr<T> data_;
};

}  // namespace collbench
