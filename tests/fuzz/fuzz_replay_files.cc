// Fuzzes what the page reads of simulations: any text is a trace, a table of links, or an
// InvalidArgument; what was read can be drawn.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "bench/reports/html_report.h"
#include "bench/reports/replay.h"
#include "core/error.h"

FUZZ_TARGET(replay_files, input) {
  const std::string text(input);
  for (const auto& read : {collbench::trace_from_json, collbench::links_from_csv}) {
    try {
      collbench::HtmlReport page;
      page.replays.push_back(read(text, "fuzz"));
      if (collbench::page_data(page).find('<') != std::string::npos) std::abort();
    } catch (const collbench::InvalidArgument&) {
      // Neither.
    }
  }
}
