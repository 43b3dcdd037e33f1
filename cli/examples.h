// Examples below the help of each command.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// What closes the help of a command, "simulate" or "algos show": a remark where there is one, and
/// its examples. Empty for a command that has other commands below it.
std::string examples_of(std::string_view command);

}  // namespace collbench
