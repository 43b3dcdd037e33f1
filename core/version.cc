#include "core/version.h"

namespace collbench {

std::string_view collbench_version() { return COLLBENCH_VERSION; }
std::string_view collbench_revision() { return COLLBENCH_GIT_REVISION; }
std::string_view collbench_build_flags() { return COLLBENCH_BUILD_FLAGS; }

}  // namespace collbench
