// A first line that states the checksum of the rest of a text, for formats whose remarks begin
// with #. It comes first so that a truncated text does not match it either.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// The text behind a remark with its CRC-32C.
std::string with_checksum_line(std::string_view text);

/// What is wrong with a text whose first line states a checksum that the rest does not have; "" if
/// nothing is. A text without that line was written by hand, or edited.
std::string checksum_complaint(std::string_view text);

}  // namespace collbench
