// Fuzzes files of records: any text is either records, which are written and read again the same
// and give a comparison and a page, or an InvalidArgument.
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "bench/records/record_json.h"
#include "bench/reports/html_report.h"
#include "bench/verdicts/compare.h"
#include "bench/verdicts/verdict_json.h"
#include "core/error.h"

namespace {

using namespace collbench;

void use(const RecordFile& file) {
  const std::string written = to_json(file);
  if (to_json(records_from_json(written)) != written) std::abort();
  HtmlReport page;
  page.sources.push_back({"fuzz", file});
  if (page_data(page).find('<') != std::string::npos) std::abort();
  require_sound(file, "fuzz");
  const std::string verdicts = to_json(compare_files(file, file, {}, false));
  if (to_json(comparison_from_json(verdicts)) != verdicts) std::abort();
}

}  // namespace

FUZZ_TARGET(records, input) {
  const std::string text(input);
  try {
    use(records_from_json(text));
  } catch (const InvalidArgument&) {
    // Not a file of records, or one that no run writes.
  }
}
