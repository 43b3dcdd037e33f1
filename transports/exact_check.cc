#include "transports/exact_check.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

namespace collbench {
namespace {

// Blocks of a buffer are copies of stretches of a tile, each from its own place in it.
constexpr std::int64_t block_elements = 1024;
constexpr std::int64_t tile_elements = 3 * block_elements;

// Source: Steele, Lea and Flood 2014, "SplitMix", the finaliser.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t mix(std::uint64_t seed, std::int64_t position) {
  return mix(seed ^ mix(static_cast<std::uint64_t>(position)));
}

std::uint64_t mix(std::uint64_t seed, Rank rank, std::int64_t position) {
  return mix(mix(seed, position) + static_cast<std::uint64_t>(rank));
}

/// What a type holds exactly: all whole numbers up to one, and 2 to a power.
struct Exactness {
  std::int64_t limit;
  int power;
};

Exactness exactness(DataType type) {
  constexpr std::int64_t of_i32 = (std::int64_t{1} << 31) - 1;
  constexpr Exactness all[] = {{1 << 11, 15}, {1 << 8, 127}, {1 << 24, 127}, {of_i32, 1000},
                               {of_i32, 30},  {of_i32, 62},  {255, 7}};  // f16 to u8
  return all[static_cast<std::size_t>(type)];
}

// Whether `rank` is one of `chosen` ranks, which move with the position.
bool is_chosen(std::int64_t chosen, int ranks, Rank rank, std::uint64_t at) {
  const auto n = static_cast<std::uint64_t>(ranks);
  return static_cast<std::int64_t>((at + static_cast<std::uint64_t>(rank)) % n) < chosen;
}

bool is_signed(DataType type) { return type != DataType::u8; }

// `value` rounded to nearest even with `bits` bits of significand (no subnormals occur here).
double round_to(double value, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

std::uint16_t f16_bits(double value) {
  const double rounded = round_to(value, 11);
  if (rounded == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(rounded), &exponent);  // in [0.5, 1)
  assert(exponent >= -13 && exponent <= 16);
  const auto mantissa = static_cast<unsigned>(std::ldexp(fraction, 11)) & 0x3ffU;
  const auto biased = static_cast<unsigned>(exponent + 14) << 10;
  return static_cast<std::uint16_t>((rounded < 0 ? 0x8000U : 0U) | biased | mantissa);
}

std::uint16_t bf16_bits(double value) {
  const auto wide = static_cast<float>(round_to(value, 8));
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(wide) >> 16);
}

template <typename T>
void store(T value, std::byte* element) {
  std::memcpy(element, &value, sizeof value);
}

// A number in (-1, 1) of some 50 bits; at least 2^-9 in size, so that f16 needs no subnormals. For
// prod 1 to 2, so that products of many ranks stay in range as long as possible.
double rough_input(DataType type, ReduceOp op, std::uint64_t bits) {
  if (type == DataType::i32 || type == DataType::i64) return static_cast<std::int32_t>(bits);
  if (type == DataType::u8) return static_cast<double>(bits & 0xff);
  const double size = static_cast<double>(bits >> 12) * 0x1p-52;
  if (op == ReduceOp::prod) return 1 + size / 8;
  return (bits & 1) != 0 ? 0x1p-9 + size : -0x1p-9 - size;
}

double average(DataType type, double sum, int ranks) {
  switch (type) {
    case DataType::f64:
      return sum * (1.0 / ranks);
    case DataType::f16:
    case DataType::bf16:
    case DataType::f32:
      return static_cast<float>(sum) * (1.0F / static_cast<float>(ranks));
    default:
      return std::trunc(sum / ranks);
  }
}

}  // namespace

double exact_input(DataType type, ReduceOp op, int ranks, Rank rank, std::int64_t position,
                   std::uint64_t seed) {
  const std::uint64_t bits = mix(seed, rank, position);
  const double sign = is_signed(type) && (bits >> 63) != 0 ? -1 : 1;
  if (op == ReduceOp::prod) {
    const int twos = exactness(type).power;
    return sign * (is_chosen(twos, ranks, rank, mix(seed, position)) ? 2 : 1);
  }
  const bool adds = op == ReduceOp::sum || op == ReduceOp::avg;
  const std::int64_t limit = adds ? exactness(type).limit / ranks : exactness(type).limit;
  const std::int64_t largest = std::min<std::int64_t>(limit, 1 << 16);
  if (largest == 0) {  // more ranks than the type can count: some contribute one, the others none
    return is_chosen(exactness(type).limit, ranks, rank, mix(seed, position)) ? sign : 0.0;
  }
  const auto size = static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(largest + 1));
  return size == 0 ? 0.0 : sign * static_cast<double>(size);
}

double exact_result(DataType type, ReduceOp op, int ranks, std::int64_t position,
                    std::uint64_t seed) {
  double result = exact_input(type, op, ranks, 0, position, seed);
  for (Rank rank = 1; rank < ranks; ++rank) {
    const double input = exact_input(type, op, ranks, rank, position, seed);
    if (op == ReduceOp::sum || op == ReduceOp::avg) result += input;
    if (op == ReduceOp::prod) result *= input;
    if (op == ReduceOp::min) result = std::min(result, input);
    if (op == ReduceOp::max) result = std::max(result, input);
  }
  return op == ReduceOp::avg ? average(type, result, ranks) : result;
}

double rough_value(DataType type, ReduceOp op, Rank rank, std::int64_t position,
                   std::uint64_t seed) {
  return rough_input(type, op, mix(~seed, rank, position));
}

void encode(DataType type, double value, std::byte* element) {
  switch (type) {
    case DataType::f16:
      return store(f16_bits(value), element);
    case DataType::bf16:
      return store(bf16_bits(value), element);
    case DataType::f32:
      return store(static_cast<float>(value), element);
    case DataType::f64:
      return store(value, element);
    case DataType::i32:
      return store(static_cast<std::int32_t>(value), element);
    case DataType::i64:
      return store(static_cast<std::int64_t>(value), element);
    case DataType::u8:
      return store(static_cast<std::uint8_t>(value), element);
  }
}

CheckInputs::CheckInputs(DataType type, ReduceOp op, int ranks, Rank rank, std::uint64_t seed)
    : type_(type), seed_(seed) {
  const std::int64_t width = size_of(type);
  for (Tile* tile : {&exact_, &rough_, &result_}) {
    tile->resize(static_cast<std::size_t>(tile_elements * width));
  }
  for (std::int64_t i = 0; i < tile_elements; ++i) {
    encode(type, exact_input(type, op, ranks, rank, i, seed), exact_.data() + i * width);
    encode(type, rough_value(type, op, rank, i, seed), rough_.data() + i * width);
    encode(type, exact_result(type, op, ranks, i, seed), result_.data() + i * width);
  }
}

std::int64_t CheckInputs::block_start(std::int64_t block) const {
  const std::uint64_t places = tile_elements - block_elements + 1;
  return static_cast<std::int64_t>(mix(seed_, block) % places);
}

namespace {

// Calls `visit` with each stretch of `part` that lies in one block.
template <typename Visit>
void for_each_block(Elements part, Visit visit) {
  const std::int64_t last = part.first + part.count;
  for (std::int64_t first = part.first; first < last;) {
    const std::int64_t block = first / block_elements;
    const std::int64_t end = std::min((block + 1) * block_elements, last);
    visit(block, first, end - first);
    first = end;
  }
}

}  // namespace

void CheckInputs::fill(Region vector, InputKind kind, Elements part) const {
  assert(vector.type == type_);
  const Tile& tile = kind == InputKind::exact ? exact_ : rough_;
  const std::int64_t width = size_of(type_);
  for_each_block(part, [&](std::int64_t block, std::int64_t first, std::int64_t n) {
    const std::int64_t inside = first - block * block_elements;
    std::memcpy(vector.data + first * width, tile.data() + (block_start(block) + inside) * width,
                static_cast<std::size_t>(n * width));
  });
}

std::int64_t count_unlike(Region region, const std::byte* right) {
  const auto width = static_cast<std::size_t>(size_of(region.type));
  const auto bytes = static_cast<std::size_t>(region.size().count);
  if (bytes == 0 || std::memcmp(region.data, right, bytes) == 0) return 0;
  std::int64_t unlike = 0;
  for (std::size_t at = 0; at < bytes; at += width) {
    unlike += std::memcmp(region.data + at, right + at, width) != 0 ? 1 : 0;
  }
  return unlike;
}

std::int64_t CheckInputs::count_unlike_tile(Region vector, Elements part, const Tile& tile) const {
  assert(vector.type == type_);
  std::int64_t unlike = 0;
  for_each_block(part, [&](std::int64_t block, std::int64_t first, std::int64_t n) {
    const std::int64_t inside = first - block * block_elements;
    unlike += count_unlike(vector.part(first, n),
                           tile.data() + (block_start(block) + inside) * size_of(type_));
  });
  return unlike;
}

std::int64_t CheckInputs::count_changed_inputs(Region vector, Elements part) const {
  return count_unlike_tile(vector, part, exact_);
}

std::int64_t CheckInputs::count_wrong_results(Region vector, Elements part) const {
  return count_unlike_tile(vector, part, result_);
}

std::uint64_t hash_bits(std::span<const std::byte> bits) {
  constexpr std::size_t lanes = 4;  // independent chains, so that memory is the limit
  std::uint64_t state[lanes] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + 8 * lanes <= bits.size(); at += 8 * lanes) {
    std::uint64_t words[lanes];
    std::memcpy(words, bits.data() + at, sizeof words);
    for (std::size_t i = 0; i < lanes; ++i) {
      state[i] = std::rotl((state[i] ^ words[i]) * 0x9e3779b97f4a7c15U, 29);
    }
  }
  std::uint64_t hash = bits.size();
  for (const std::uint64_t lane : state) hash = mix(hash ^ lane);
  for (; at < bits.size(); ++at) hash = mix(hash ^ std::to_integer<std::uint64_t>(bits[at]));
  return hash;
}

}  // namespace collbench
