#include "tests/transports/every_element.h"

#include <cstring>

#include "core/random.h"
#include "transports/kernels/kernels.h"

namespace collbench {
namespace {

// Exponent fields near one, mantissa and sign from `random`, by the widths of the format.
std::uint64_t moderate(std::uint64_t random, int exponent_bits, int mantissa_bits) {
  const std::uint64_t bias = (std::uint64_t{1} << (exponent_bits - 1)) - 1;
  const std::uint64_t exponent = bias - 4 + (random >> 60) % 8;
  const std::uint64_t mantissa = random & ((std::uint64_t{1} << mantissa_bits) - 1);
  const std::uint64_t sign = (random >> 59) & 1U;
  return (sign << (exponent_bits + mantissa_bits)) | (exponent << mantissa_bits) | mantissa;
}

std::uint64_t moderate_bits(DataType type, std::uint64_t random) {
  switch (type) {
    case DataType::f16:
      return moderate(random, 5, 10);
    case DataType::bf16:
      return moderate(random, 8, 7);
    case DataType::f32:
      return moderate(random, 8, 23);
    case DataType::f64:
      return moderate(random, 11, 52);
    default:
      return random;
  }
}

}  // namespace

std::vector<std::byte> every_element(DataType type, std::int64_t count, std::uint64_t seed) {
  RandomEngine engine = random_engine(seed, "every_element");
  const auto size = static_cast<std::size_t>(size_of(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    const std::uint64_t kind = engine() % 8;
    const std::uint64_t random = engine();
    std::uint64_t bits = moderate_bits(type, random);
    if (kind < 2) bits = random;
    if (kind == 2) bits = (random & 1U) << (8 * size - 1);
    std::memcpy(bytes.data() + at, &bits, size);
  }
  return bytes;
}

std::vector<std::byte> reduced_by_cpu(DataType type, ReduceOp op, int divisor,
                                      const std::vector<std::vector<std::byte>>& sources) {
  std::vector<const std::byte*> from;
  for (const auto& source : sources) from.push_back(source.data());
  std::vector<std::byte> result(sources[0].size());
  std::byte* const to = result.data();
  const auto count = static_cast<std::int64_t>(result.size()) / size_of(type);
  reduce(type, {op, divisor}, from, {&to, 1}, count);
  return result;
}

}  // namespace collbench
