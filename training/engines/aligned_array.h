// An array of numbers whose first one lies at the start of a cache line, all 0 at first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>

namespace collbench {

template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::int64_t size)
      : size_(size),
        data_(static_cast<T*>(::operator new[](static_cast<std::size_t>(size) * sizeof(T), line))) {
    std::fill_n(data_.get(), size, T{0});
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::int64_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  static constexpr std::align_val_t line{64};
  struct Free {
    void operator()(T* data) const { ::operator delete[](data, line); }
  };
  std::int64_t size_ = 0;
  std::unique_ptr<T, Free> data_;
};

}  // namespace collbench
