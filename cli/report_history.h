// A history as the page draws it.
#pragma once

#include <string>
#include <vector>

#include "bench/reports/html_report.h"

namespace collbench {

/// Every case of a history that `collbench history` keeps, with its change points. Exact cases are
/// shown as ratios to their first point. Throws as History does.
std::vector<HistorySeries> read_history(const std::string& path);

}  // namespace collbench
