// Refusing a word that is not among those that are known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// Throws InvalidArgument, "LABEL: unknown 'rnig'. Did you mean 'ring'? Known are ring, tree", for
/// a value that is not among the known ones. `what` says what it should be: "unknown column 'bus'".
void require_known(const std::string& label, std::string_view value,
                   const std::vector<std::string>& known, const std::string& what = "");

}  // namespace collbench
