// NCCL's algorithms and protocols as files of its tuners write them, by its own numbers.
#pragma once

#include <array>
#include <string_view>

namespace collbench {

inline constexpr std::array<std::string_view, 7> nccl_algorithm_names{
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
inline constexpr std::array<std::string_view, 3> nccl_protocol_names{"ll", "ll128", "simple"};

}  // namespace collbench
