// Examples below the help of each command.
#pragma once

#include <string_view>

namespace collbench {

/// Lines to be shown below "Examples:", for "simulate" or "algos show"; empty for a command that
/// has a footer of its own (declare.h) or other commands below it.
std::string_view examples_of(std::string_view command);

}  // namespace collbench
