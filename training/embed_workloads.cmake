# Writes OUTPUT, a C++ source with the text of every FOLDER/*.csv, when they changed:
#   cmake -D FOLDER=... -D OUTPUT=... -P embed_workloads.cmake
file(GLOB files ${FOLDER}/*.csv)
list(SORT files)
list(LENGTH files count)
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  # The standard guarantees 65,536 characters of one literal; the largest table has half of them.
  string(APPEND entries "    {\"${name}\", R\"csv(${text})csv\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"training/shipped_workloads.h\"

#include <array>

namespace collbench {
namespace {

constexpr std::array<ShippedWorkload, ${count}> files{{
${entries}}};

}  // namespace

std::span<const ShippedWorkload> shipped_workload_files() { return files; }

}  // namespace collbench
")
