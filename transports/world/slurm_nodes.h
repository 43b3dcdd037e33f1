// Slurm's lists of nodes: "rack[1-2]node[03-05,11],login" is rack1node03, rack1node04, ...
//
// Numbers keep their leading zeros; several brackets in one name are all combined, the last one
// fastest, as `scontrol show hostnames` does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// The names in the order of the list. Throws InvalidArgument for what is no such list, and for one
/// of more than 65536 nodes.
std::vector<std::string> expand_node_list(std::string_view list);

}  // namespace collbench
