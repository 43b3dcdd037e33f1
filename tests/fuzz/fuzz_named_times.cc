// Fuzzes what `ab --read` reads: the first byte chooses the format, the rest is times of it or an
// InvalidArgument.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bench/foreign/named_times.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace collbench;
  if (size == 0) return 0;
  const auto formats = times_formats();
  const TimesFormat& format = formats[data[0] % formats.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  TimesRequest request{&format, {}};
  if (format.takes_columns) request.columns = {"name", "time", "unit"};
  try {
    for (const NamedTimes& one : read_named_times(request, text, "fuzz")) {
      if (one.name.empty() || one.ns.empty()) std::abort();
      for (const double ns : one.ns) {
        if (!(ns > 0 && ns < 1e18)) std::abort();
      }
    }
  } catch (const InvalidArgument&) {
    // Not of the format.
  } catch (const WrongResult&) {
    // The benchmark says that its result is wrong.
  }
  return 0;
}
