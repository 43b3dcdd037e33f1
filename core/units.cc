#include "core/units.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {

namespace {

constexpr std::int64_t largest_size = std::int64_t{1} << 62;
// No ISO type is wide enough, and only a typedef can be marked as an extension.
__extension__ typedef __int128 WideInt;  // NOLINT(modernize-use-using)

[[noreturn]] void refuse(const std::string& text, std::string_view why) {
  throw InvalidArgument(
      fmt::format("size '{}' {}; write NUMBER[K|M|G|T], as in 4, 64K, 1.5G or 4KiB", text, why));
}

// Power of 1024 of a unit "", "B", "K", "KB", "KiB" ...; -1 if it is none.
int unit_power(std::string_view unit) {
  if (unit.empty() || unit == "B" || unit == "b") return 0;
  const auto letter = std::string_view("KMGT").find(static_cast<char>(unit[0] & ~0x20));
  if (letter == std::string_view::npos) return -1;
  const std::string_view rest = unit.substr(1);
  const bool known = rest.empty() || rest == "B" || rest == "b" || rest == "i" || rest == "iB";
  return known ? static_cast<int>(letter) + 1 : -1;
}

}  // namespace

Bytes parse_size(const std::string& text) {
  if (text.empty()) refuse(text, "is empty");
  if (text[0] == '-') refuse(text, "is negative");
  std::size_t i = 0;
  std::int64_t whole = 0;
  while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
    const int digit = text[i++] - '0';
    if (whole > (largest_size - digit) / 10) refuse(text, "is larger than 2^62 bytes");
    whole = whole * 10 + digit;
  }
  if (i == 0) refuse(text, "does not start with a digit");
  std::int64_t fraction = 0;
  std::int64_t fraction_scale = 1;
  if (i < text.size() && text[i] == '.') {
    const std::size_t start = ++i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      if (i - start >= 9) refuse(text, "has more than 9 digits after the point");
      fraction = fraction * 10 + (text[i++] - '0');
      fraction_scale *= 10;
    }
    if (i == start) refuse(text, "has no digit after the point");
  }
  if (i < text.size() && text[i] == ' ') ++i;
  const int power = unit_power(std::string_view(text).substr(i));
  if (power < 0) refuse(text, "has an unknown unit '" + text.substr(i) + "'");
  const std::int64_t unit = std::int64_t{1} << (10 * power);
  // Exact in 128 bits: a fraction counts only if it gives whole bytes.
  const WideInt scaled_fraction = static_cast<WideInt>(fraction) * unit;
  if (scaled_fraction % fraction_scale != 0) refuse(text, "is not a whole number of bytes");
  const WideInt total = static_cast<WideInt>(whole) * unit + scaled_fraction / fraction_scale;
  if (total > largest_size) refuse(text, "is larger than 2^62 bytes");
  return {static_cast<std::int64_t>(total)};
}

std::string to_string(Bytes size) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  if (size.count < 0) return "-" + to_string(Bytes{-size.count});
  // A multiple of 1/8 unit is what three decimals can write exactly.
  int u = 0;
  while (u < 4 && size.count >> (10 * (u + 1)) > 0 && size.count % (1LL << (10 * u + 7)) == 0) ++u;
  const std::int64_t whole = size.count >> (10 * u);
  const std::int64_t eighths = (size.count - (whole << (10 * u))) * 8 >> (10 * u);
  const std::string number = fmt::format("{}.{:03}", whole, eighths * 125);
  const std::size_t last = number.find_last_not_of('0');
  return fmt::format("{} {}", number.substr(0, number[last] == '.' ? last : last + 1), units[u]);
}

std::string rounded(Bytes size) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(size.count);
  std::size_t unit = 0;
  for (; value >= 1000 && unit + 1 < units.size(); ++unit) value /= 1024;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

namespace {

// The largest unit not above the value, four significant digits.
std::string scaled(double value, double step, std::span<const std::string_view> units) {
  std::size_t u = 0;
  while (u + 1 < units.size() && std::abs(value) >= step) {
    value /= step;
    ++u;
  }
  return fmt::format("{:.4g} {}", value, units[u]);
}

}  // namespace

std::string to_string(Bandwidth rate) {
  constexpr std::array<std::string_view, 5> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(rate.bytes_per_second, 1000, units);
}

std::string to_string(Seconds time) {
  constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
  return scaled(time.count() * 1e9, 1000, units);
}

}  // namespace collbench
