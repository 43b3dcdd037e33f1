// The files of bench/reports/html as text in the program: the HTML report is one file that needs no
// other.
#pragma once

#include <string_view>

namespace collbench {

/// Apache ECharts, as npm has it; bench/reports/html/echarts/README.md says which version.
std::string_view echarts_script();
/// The page's own scripts, in the order in which they are to be run.
std::string_view page_script();
std::string_view page_style();

}  // namespace collbench
