# Writes OUTPUT, a C++ source with the text of every FOLDER/*.toml, when they changed:
#   cmake -D FOLDER=... -D OUTPUT=... -P embed_machines.cmake
file(GLOB files ${FOLDER}/*.toml)
list(SORT files)
list(LENGTH files count)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  # MSVC and the standard guarantee 65,536 characters of one literal; no machine comes near.
  string(APPEND entries "    {\"${name}\", R\"toml(${text})toml\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"topologies/shipped_files.h\"

#include <array>

namespace collbench {
namespace {

constexpr std::array<ShippedFile, ${count}> files{{
${entries}}};

}  // namespace

std::span<const ShippedFile> shipped_files() { return files; }

}  // namespace collbench
")
