// Environment variables.
#pragma once

#include <string>

namespace collbench {

/// The value of a variable; `otherwise` if it is not set or empty. Thread safety: as std::getenv(),
/// so not beside a setenv().
std::string environment_variable(const std::string& name, const std::string& otherwise = "");

}  // namespace collbench
