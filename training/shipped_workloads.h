// The tables training/workloads/*.csv, carried in the library, so that an installed command needs
// no files. Their table is written by CMake (embed_workloads.cmake).
#pragma once

#include <span>
#include <string_view>

namespace collbench {

struct ShippedWorkload {
  std::string_view name;  // without ".csv"
  std::string_view text;
};
/// By name.
std::span<const ShippedWorkload> shipped_workload_files();

}  // namespace collbench
