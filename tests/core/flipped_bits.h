// Texts with one bit that has flipped, as a disk or memory that fails makes them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace collbench {

/// Calls visit(damaged, place) with `text` in every `stride`-th byte of which from `first` on one
/// bit has flipped, another one in turn.
inline void for_each_flipped_bit(
    std::string_view text, std::size_t first, std::size_t stride,
    const std::function<void(const std::string&, std::size_t)>& visit) {
  unsigned bit = 0;
  for (std::size_t at = first; at < text.size(); at += stride) {
    std::string damaged(text);
    damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << bit++ % 8));
    visit(damaged, at);
  }
}

}  // namespace collbench
