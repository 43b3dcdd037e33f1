// The [structure] of a machine file: which links exist, as a Topology. Private to machine_file.cc.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "topologies/machine_file.h"
#include "topologies/toml_table.h"

namespace collbench {

using LinkClasses = std::map<std::string, LinkClass>;

/// The class that `key` of `table` names. Throws InvalidArgument with the nearest name.
const LinkClass& class_named(const TomlTable& table, const std::string& key,
                             const LinkClasses& classes);

/// [fabric] of a file.
Fabric read_fabric(const TomlTable& table, const LinkClasses& classes);

struct Structure {
  Topology topology;
  std::optional<Costs> node_costs;  // of a cluster: those of its nodes
};
/// `fabric` joins the nodes of a cluster, in place of the nodes' own.
Structure read_structure(const TomlTable& table, const LinkClasses& classes,
                         const std::optional<Fabric>& fabric, const MachineSize& size);

}  // namespace collbench
