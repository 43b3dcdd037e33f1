// FUZZ_TARGET(name, input) { ... } is what is done with any bytes, a std::string_view: it aborts
// where a property fails. replay.cc finds it by its name.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#define FUZZ_TARGET(name, input)                                    \
  static void fuzz_##name(std::string_view input);                  \
  [[maybe_unused]] static const bool is_there_##name =              \
      collbench::fuzz_targets().emplace(#name, fuzz_##name).second; \
  static void fuzz_##name(std::string_view input)

namespace collbench {

inline std::map<std::string, void (*)(std::string_view)>& fuzz_targets() {
  static std::map<std::string, void (*)(std::string_view)> targets;
  return targets;
}

inline std::uint8_t byte_of(std::string_view input, std::size_t index) {
  return static_cast<std::uint8_t>(input[index]);
}

}  // namespace collbench
