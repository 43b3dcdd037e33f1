// A graph collected part by part while a file is read, in any order, and then made a Topology.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topologies/networks/networks.h"

namespace collbench {

/// Thread safety: none.
class GraphParts {
 public:
  /// Names are for people; `order` sorts the hosts, equal ones stay as added.
  int add_host(std::string name, int order = 0);
  int add_switch(std::string name);
  /// Classes of the same name, rate and latency are one.
  std::int32_t add_class(const LinkClass& link_class);
  /// A cable both ways between two parts, numbered as add_host() and add_switch() returned them.
  void add_cable(int a, int b, const LinkClass& link_class, double lanes = 1);
  /// Cables between each pair of `parts`.
  void add_mesh(const std::vector<int>& parts, const LinkClass& link_class);

  int hosts() const { return hosts_; }
  /// A flat layout. Throws InvalidArgument, led by `file`, if there is no host or two hosts are not
  /// connected.
  Topology build(const std::string& name, const std::string& file) const;

 private:
  struct Part {
    std::string name;
    bool is_host = false;
    int order = 0;
  };
  std::vector<int> numbering() const;

  int hosts_ = 0;
  std::vector<Part> parts_;
  std::vector<LinkClass> classes_;
  std::vector<Cable> cables_;
};

/// "cluster" of "dir/cluster.xml": what a machine from this file is called.
std::string machine_name(const std::string& file);

}  // namespace collbench
