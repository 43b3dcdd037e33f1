// Fuzzes what the page reads of simulations: any text is a trace, a table of links, or an
// InvalidArgument; what was read can be drawn.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "bench/reports/html_report.h"
#include "bench/reports/replay.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& read : {collbench::trace_from_json, collbench::links_from_csv}) {
    try {
      collbench::HtmlReport page;
      page.replays.push_back(read(text, "fuzz"));
      if (collbench::page_data(page).find('<') != std::string::npos) std::abort();
    } catch (const collbench::InvalidArgument&) {
      // Neither.
    }
  }
  return 0;
}
