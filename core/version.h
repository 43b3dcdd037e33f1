// Which collbench this code was built as, and how.
#pragma once

#include <string_view>

namespace collbench {

/// As in the project's CMakeLists.txt: "0.1.0".
std::string_view collbench_version();

/// The commit that was there when the build was configured; "unknown" without git.
std::string_view collbench_revision();

/// The build type and the flags of the compiler: "RelWithDebInfo -O2 -DNDEBUG".
std::string_view collbench_build_flags();

}  // namespace collbench
