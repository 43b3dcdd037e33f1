// The scalar members of a line of JSON, without making values of it: for logs of millions of lines
// that are objects of a few levels. About four times as fast as the events of a JSON library; what
// it is used for is compared with one in bench/micro/log_benchmark.cc.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace collbench {

/// Calls `take(key, value)` for every member, at any depth, whose value is a number, a word or
/// text, with the text as it is written, and `take(key, "{")` for one that is an object. Elements
/// of lists have the key of the list, but behind an object in it the last key of that. Returns
/// false, perhaps after some calls, unless `line` is one object with its brackets in order and
/// nothing behind it. Does not check more than that.
template <typename Take>
bool for_each_member(std::string_view line, Take&& take) {
  const char* at = line.data();
  const char* const end = at + line.size();
  std::string_view key;
  std::uint64_t is_object = 0;  // of the open brackets, the innermost in the lowest bit
  int depth = 0;
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (at != end) {
    const char c = *at;
    if (is_blank(c) || c == ',') {
      ++at;
    } else if (c == '"') {
      const char* const begin = ++at;
      for (;; ++at) {
        at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
        if (at == nullptr) return false;
        const char* escape = at;
        while (escape != begin && escape[-1] == '\\') --escape;
        if ((at - escape) % 2 == 0) break;
      }
      const std::string_view text(begin, static_cast<std::size_t>(at - begin));
      for (++at; at != end && is_blank(*at);) ++at;
      if (at != end && *at == ':') {
        key = text;
        ++at;
      } else {
        take(key, text);
      }
    } else if (c == '{' || c == '[') {
      if (++depth > 60) return false;
      is_object = is_object << 1 | (c == '{' ? 1 : 0);
      if (c == '{' && depth > 1) take(key, std::string_view(at, 1));
      ++at;
    } else if (c == '}' || c == ']') {
      if (depth == 0 || (is_object & 1) != (c == '}' ? 1U : 0U)) return false;
      is_object >>= 1;
      ++at;
      if (--depth > 0) continue;
      while (at != end && is_blank(*at)) ++at;
      return at == end;
    } else {
      const char* const begin = at;
      while (at != end && !is_blank(*at) && *at != ',' && *at != '}' && *at != ']') ++at;
      if (depth == 0) return false;
      take(key, std::string_view(begin, static_cast<std::size_t>(at - begin)));
    }
  }
  return false;
}

}  // namespace collbench
