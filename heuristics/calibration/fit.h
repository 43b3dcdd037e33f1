// Options that a machine suggests to an algorithm: a torus all-reduce follows the axes of the
// torus it runs on, a hierarchical one the levels of the cluster.
#pragma once

#include <string>
#include <vector>

#include "algorithms/registry.h"
#include "topologies/machine.h"

namespace collbench {

/// `spec` with the options `dims` and `wrap` of torus, torus-2d and hierarchical taken from the
/// layout where the user left them open and the layout fits: the ranks fill whole inner axes, in
/// row-major order. A torus of chips with several cores adds over the cores first, one of which
/// only some axes close gets balanced shares. On grids whose axes are powers of two,
/// recursive-doubling, halving-doubling and (if all axes close) swing get `dims` and a track for
/// every axis, swing for every direction. Channels get the node of a cluster, or a single node as
/// a whole. `orders=wires` of a ring becomes the rings over the cables between hosts, and throws
/// InvalidArgument where there are none. Otherwise `spec` as it is.
AlgorithmSpec fit_to(const AlgorithmSpec& spec, const Topology& topology, int ranks);

/// fit_to() for ranks that are spread evenly over `nodes` nodes of a cluster, or else over
/// nodes_of(): where those have seats to spare, channels get the ranks of each node, and
/// hierarchical and torus levels of these, for the layout, which is that of the seats, says nothing
/// of the ranks then.
AlgorithmSpec fit_to_nodes(const AlgorithmSpec& spec, const Topology& topology, int ranks,
                           int nodes);

/// Nodes that ranks fill one after the other, in row-major order; 1 where they fill none evenly.
int nodes_of(const Layout& layout, int ranks);

/// Whether the machine is a cluster whose first `nodes` nodes seat an equal share of the ranks
/// each.
bool seats_evenly(const Layout& layout, int ranks, int nodes);
/// Ranks on each of `nodes` nodes of a cluster, or else of nodes_of(); 0 on other machines and
/// where they are not spread evenly.
int ranks_on_node(const Layout& layout, int ranks, int nodes);
/// Whether those are several nodes and have more seats than ranks.
bool have_spare_seats(const Layout& layout, int ranks, int nodes);

/// Their hosts, the first ones of each such node; in row-major order on any other machine.
std::vector<Host> seats_of_ranks(const Topology& topology, int ranks, int nodes);

/// Why the ranks cannot be on so many nodes of the machine, with what to write instead; empty if
/// they can, or if the nodes do not divide them. Hosts that are no cluster's are one node where
/// they are GPUs, else each is a node.
std::string why_not_seated(const Machine& machine, int ranks, int nodes);

/// place() as every command takes it: in row-major order ranks that do not fill the nodes of a
/// cluster are spread evenly over as few of them as seat them, where they can be.
std::vector<Host> hosts_of_ranks(const std::string& order, int ranks, const Topology& topology);
/// How ranks that fill the last of their nodes only in part are seated, in words: "12 workers are
/// seated as 6 on each of 2 nodes, which have room for 8"; empty for others.
std::string words_on_seats(const Topology& topology, int ranks, int nodes);

}  // namespace collbench
