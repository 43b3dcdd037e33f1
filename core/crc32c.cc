#include "core/crc32c.h"

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace collbench {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78U;
using CrcTable = std::array<std::uint32_t, 256>;

constexpr std::uint32_t times_x(std::uint32_t rest) {
  return (rest >> 1) ^ ((rest & 1) != 0 ? polynomial : 0U);
}

// Table k gives what a byte adds to the rest that k further bytes leave.
constexpr std::array<CrcTable, 8> make_tables() {
  std::array<CrcTable, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = times_x(rest);
    tables[0][byte] = rest;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  }
  return tables;
}
constexpr std::array<CrcTable, 8> tables = make_tables();

std::uint64_t word_at(const std::byte* data) {
  std::uint64_t word = 0;
  std::memcpy(&word, data, sizeof word);
  return word;
}

std::uint32_t rest_by_tables(std::uint32_t rest, std::span<const std::byte> bytes) {
  std::size_t at = 0;
  for (; std::endian::native == std::endian::little && at + 8 <= bytes.size(); at += 8) {
    const std::uint64_t word = word_at(bytes.data() + at) ^ rest;
    rest = 0;
    for (std::size_t k = 0; k < 8; ++k) rest ^= tables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; at < bytes.size(); ++at) {
    rest = (rest >> 8) ^ tables[0][(rest ^ std::to_integer<std::uint32_t>(bytes[at])) & 0xFF];
  }
  return rest;
}

#if defined(__x86_64__)

constexpr std::size_t stretch = 1024;  // bytes of each of the three

// The product of two polynomials modulo ours; the highest bit is the coefficient of 1.
constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 1U << 31; bit != 0; bit >>= 1, b = times_x(b)) {
    if ((a & bit) != 0) sum ^= b;
  }
  return sum;
}

// What a rest becomes when `stretch` bytes of zeros follow, byte by byte of the rest.
std::array<CrcTable, 4> make_stretch_tables() {
  std::uint32_t power = 1U << 31;
  for (std::size_t bit = 0; bit < 8 * stretch; ++bit) power = times_x(power);
  std::array<CrcTable, 4> shifted{};
  for (std::size_t k = 0; k < 4; ++k) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      shifted[k][byte] = product(power, byte << (8 * k));
    }
  }
  return shifted;
}

std::uint32_t after_stretch(const std::array<CrcTable, 4>& shifted, std::uint32_t rest) {
  return shifted[0][rest & 0xFF] ^ shifted[1][(rest >> 8) & 0xFF] ^
         shifted[2][(rest >> 16) & 0xFF] ^ shifted[3][rest >> 24];
}

__attribute__((target("sse4.2"))) std::uint32_t rest_by_instruction(
    std::uint32_t rest, std::span<const std::byte> bytes) {
  static const std::array<CrcTable, 4> shifted = make_stretch_tables();
  const std::byte* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 3 * stretch; left -= 3 * stretch, data += 3 * stretch) {
    std::uint64_t first = rest;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    for (std::size_t at = 0; at < stretch; at += 8) {
      first = _mm_crc32_u64(first, word_at(data + at));
      second = _mm_crc32_u64(second, word_at(data + stretch + at));
      third = _mm_crc32_u64(third, word_at(data + 2 * stretch + at));
    }
    rest = after_stretch(shifted, static_cast<std::uint32_t>(first)) ^
           static_cast<std::uint32_t>(second);
    rest = after_stretch(shifted, rest) ^ static_cast<std::uint32_t>(third);
  }
  std::uint64_t wide = rest;
  for (; left >= 8; left -= 8, data += 8) wide = _mm_crc32_u64(wide, word_at(data));
  rest = static_cast<std::uint32_t>(wide);
  for (; left > 0; --left, ++data) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(*data));
  return rest;
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~rest_by_instruction(~before, bytes);
#endif
  return crc32c_by_tables(bytes, before);
}

std::uint32_t crc32c(std::string_view bytes) {
  return crc32c(std::as_bytes(std::span(bytes.data(), bytes.size())));
}

std::uint32_t crc32c_by_tables(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~rest_by_tables(~before, bytes);
}

}  // namespace collbench
