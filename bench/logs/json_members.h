// The members of an object of JSON, without making values of it: for logs of millions of records
// that are objects of a few levels. About four times as fast as the events of a JSON library; what
// it is used for is compared with one in bench/micro/log_benchmark.cc.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace collbench {

inline bool is_json_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

/// The quote that closes the text of which `at` is the first character; nullptr if none does.
inline const char* closing_quote(const char* at, const char* end) {
  const char* const begin = at;
  for (;; ++at) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (at == nullptr) return nullptr;
    const char* escape = at;
    while (escape != begin && escape[-1] == '\\') --escape;
    if ((at - escape) % 2 == 0) return at;
  }
}

/// Behind the value that begins at `at`, which no blank does: its last quote, bracket or character;
/// nullptr if the text ends before. Does not check what stands between.
inline const char* end_of_json_value(const char* at, const char* end) {
  int depth = 0;
  for (; at != end; ++at) {
    const char c = *at;
    if (c == '"') {
      at = closing_quote(at + 1, end);
      if (at == nullptr) return nullptr;
      if (depth == 0) return at + 1;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (depth == 0) return at;
      if (--depth == 0) return at + 1;
    } else if (depth == 0 && (c == ',' || is_json_blank(c))) {
      return at;
    }
  }
  return nullptr;
}

struct OwnMembers {
  bool whole = false;       // the object ends in the text
  std::string_view rest{};  // what follows it, or the last of its members that is whole
};

/// Calls `take(key, value)` for every member of the object at the begin of `text`, not for those of
/// objects in it, with both as they are written but without the quotes of the key.
template <typename Take>
OwnMembers for_each_own_member(std::string_view text, Take&& take) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto ended = [&](const char* from) {
    return OwnMembers{false, std::string_view(from, static_cast<std::size_t>(end - from))};
  };
  const auto skip_blanks = [&] {
    while (at != end && is_json_blank(*at)) ++at;
  };
  if (at == end || *at != '{') return {false, text};
  ++at;
  for (bool is_first = true;; is_first = false) {
    const char* const behind_last = at;
    skip_blanks();
    if (at != end && *at == '}') {
      return {true, std::string_view(at + 1, static_cast<std::size_t>(end - at - 1))};
    }
    if (!is_first) {
      if (at == end || *at != ',') return ended(behind_last);
      ++at;
      skip_blanks();
    }
    if (at == end || *at != '"') return ended(behind_last);
    const char* const key = at + 1;
    const char* const key_end = closing_quote(key, end);
    if (key_end == nullptr) return ended(behind_last);
    at = key_end + 1;
    skip_blanks();
    if (at == end || *at != ':') return ended(behind_last);
    ++at;
    skip_blanks();
    const char* const value = at;
    at = end_of_json_value(at, end);
    if (at == nullptr || at == value) return ended(behind_last);
    take(std::string_view(key, static_cast<std::size_t>(key_end - key)),
         std::string_view(value, static_cast<std::size_t>(at - value)));
  }
}

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
  while (at != end) {
    const char c = *at;
    if (is_json_blank(c) || c == ',') {
      ++at;
    } else if (c == '"') {
      const char* const begin = ++at;
      at = closing_quote(begin, end);
      if (at == nullptr) return false;
      const std::string_view text(begin, static_cast<std::size_t>(at - begin));
      for (++at; at != end && is_json_blank(*at);) ++at;
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
      while (at != end && is_json_blank(*at)) ++at;
      return at == end;
    } else {
      const char* const begin = at;
      while (at != end && !is_json_blank(*at) && *at != ',' && *at != '}' && *at != ']') ++at;
      if (depth == 0) return false;
      take(key, std::string_view(begin, static_cast<std::size_t>(at - begin)));
    }
  }
  return false;
}

}  // namespace collbench
