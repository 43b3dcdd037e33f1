// Quantities with their unit in the type: bytes, seconds, bandwidth.
//
// Only dimensionally sound operators exist: Bytes / Bandwidth is Seconds, Bytes / Seconds is
// Bandwidth. Sizes print in binary multiples, rates in decimal ones, as the field does.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace collbench {

/// A duration in seconds, real or simulated.
using Seconds = std::chrono::duration<double>;

/// A number of bytes.
struct Bytes {
  std::int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

/// A data rate; one direction of a link unless said otherwise.
struct Bandwidth {
  double bytes_per_second = 0;
  auto operator<=>(const Bandwidth&) const = default;
};

constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
constexpr Bytes operator*(Bytes a, std::int64_t k) { return {a.count * k}; }
constexpr Seconds operator/(Bytes size, Bandwidth rate) {
  return Seconds{static_cast<double>(size.count) / rate.bytes_per_second};
}
constexpr Bandwidth operator/(Bytes size, Seconds time) {
  return {static_cast<double>(size.count) / time.count()};
}

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {static_cast<std::int64_t>(n)}; }
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 10};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 20};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {static_cast<std::int64_t>(n) << 30};
}
}  // namespace literals

/// "64 KiB", "1.5 MiB", "1000 B": the largest binary unit that keeps the number exact to 3 digits.
std::string to_string(Bytes size);
/// "166 KiB", "140 GiB": three digits.
std::string rounded(Bytes size);
/// "12.5 GB/s", four significant digits.
std::string to_string(Bandwidth rate);
/// "4.2 us", "1.3 ms", four significant digits.
std::string to_string(Seconds time);

/// Reads a size: NUMBER[.FRACTION][ ][K|M|G|T[i]][B], binary multiples ("64K" is 65536 bytes,
/// "1.5G" and "4 KiB" are fine). Throws InvalidArgument, naming the text and the rule it breaks,
/// when the text is empty, negative, has trailing characters, is not a whole number of bytes or
/// exceeds 2^62.
Bytes parse_size(const std::string& text);

/// Reads a rate: NUMBER[ ]UNIT, as in "50GBps", "25 GB/s" (1e9 bytes), "100Gbps" or "100 Gb/s" (1e9
/// bits); prefixes k to E are decimal, ki to Ei binary; B is a byte and b a bit. Throws
/// InvalidArgument, naming the text and the rule it breaks, unless it is a finite number of at
/// least 0 with such a unit.
Bandwidth parse_bandwidth(const std::string& text);

/// Reads a time: NUMBER[ ]UNIT with unit ps, ns, us, ms, s, m (or min), h, d or w, or several as in
/// "1h30m"; the number 0 needs none. Throws InvalidArgument as parse_bandwidth() does.
Seconds parse_duration(const std::string& text);

}  // namespace collbench
