// The version of collbench that this code was built as.
#pragma once

#include <string_view>

namespace collbench {

/// As in the project's CMakeLists.txt: "0.1.0".
std::string_view collbench_version();

}  // namespace collbench
