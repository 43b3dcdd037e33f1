#include "core/random.h"

namespace collbench {

namespace {

// FNV-1a: std::hash differs between standard libraries, seeds must not.
std::uint64_t hash_name(std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325U;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return h;
}

}  // namespace

RandomEngine random_engine(std::uint64_t seed, std::string_view purpose, std::uint64_t index) {
  const std::uint64_t name = hash_name(purpose);
  std::seed_seq sequence{
      static_cast<std::uint32_t>(seed),  static_cast<std::uint32_t>(seed >> 32),
      static_cast<std::uint32_t>(name),  static_cast<std::uint32_t>(name >> 32),
      static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)};
  return RandomEngine{sequence};
}

}  // namespace collbench
