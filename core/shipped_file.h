// A text file carried in a library, so that an installed command needs no files. The tables of such
// files are written by CMake (cmake/CollbenchEmbed.cmake).
#pragma once

#include <string_view>

namespace collbench {

struct ShippedFile {
  std::string_view name;  // without its suffix
  std::string_view text;
};

}  // namespace collbench
