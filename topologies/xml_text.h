// Text as it stands in XML and SVG files that we write.
#pragma once

#include <string>

namespace collbench {

/// `text` with the characters that XML reserves as entities, and control characters as blanks.
std::string escaped_for_xml(const std::string& text);

}  // namespace collbench
