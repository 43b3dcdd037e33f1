// The machine files topologies/*.toml, carried in the library, so that an installed command needs
// no files. Their table is written by CMake (embed_machines.cmake).
#pragma once

#include <span>
#include <string_view>

namespace collbench {

struct ShippedFile {
  std::string_view name;  // without ".toml"
  std::string_view text;
};
/// By name.
std::span<const ShippedFile> shipped_files();

}  // namespace collbench
