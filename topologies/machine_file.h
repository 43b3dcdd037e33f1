// Machine files: one machine in TOML, as shipped in topologies/*.toml. docs/topologies.md has every
// key.
//
// Besides its own structure a file says how copies of the machine are joined ([fabric]), so that
// any machine with adapters can be the node of a cluster. Some files describe machines that come in
// many sizes; their size is given with their name ("tpu-v5e:4x4").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/machine.h"
#include "topologies/networks/networks.h"

namespace collbench {

struct DescribedMachine {
  Machine machine;
  std::optional<Fabric> fabric;  // of copies of it
  int whole_hosts = 0;           // of which its size took a part; 0: it is whole
};

/// The size wanted: lengths as "4x4", "8" or "", and the number of ranks if it is empty (0:
/// unknown).
struct MachineSize {
  std::string lengths{};
  int workers = 0;
  int depth = 0;             // of nodes in nodes
  bool whole_chips = false;  // of a slice: one host per chip, not one per core
  std::string named{};       // what a size follows, as in named:8; empty: the file
};

/// Reads the text of `file`. Throws InvalidArgument as FILE:LINE: for what is no such machine.
DescribedMachine machine_from_toml(std::string_view text, const std::string& file,
                                   const MachineSize& size = {});

/// What a specification names (topologies/specification.h). `folder` is where paths start.
DescribedMachine describe(const std::string& spec, const MachineSize& size,
                          const std::string& folder = {});

/// "4x4x2" as numbers of at least 1; `where` leads the message of the InvalidArgument.
std::vector<int> parse_lengths(const std::string& text, const std::string& where);

}  // namespace collbench
