// Fuzzes the comparison of settings: any two texts are compared, equal ones never differ, and what
// is told does not grow with what a rank sends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "transports/grpc/agreement.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace collbench;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t half = text.find('\0');
  const std::string theirs = text.substr(0, half);
  const std::string ours =
      half == std::string::npos ? "dtype=f32\nop=sum\n" : text.substr(half + 1);
  if (!settings_difference(1, theirs, theirs).empty()) std::abort();
  const std::string told = settings_difference(1, theirs, ours);
  if (told.size() > 3 * (theirs.size() + ours.size() + 64)) std::abort();
  return 0;
}
