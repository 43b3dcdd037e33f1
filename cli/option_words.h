// The words that options take, where they are known: what completion offers and parsing accepts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// All words that the option takes, in every command that has it; empty if it takes anything.
std::vector<std::string> option_words(std::string_view option);

}  // namespace collbench
