// Colour refinement: the coarsest equitable partition of a coloured graph.
//
// In an equitable partition, all members of a class have the same colour and, for every class and
// every kind of edge, equally many neighbours in it. Whatever evolves by such counts alone (max-min
// rates do, docs/simulator.md) then evolves alike for all members of a class. Nothing is assumed
// about the graph: without symmetry every class has one member.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <vector>

namespace collbench {

/// The undirected edges of one kind: neighbours of v are to[begin[v]] .. to[begin[v + 1] - 1].
struct Adjacency {
  std::vector<std::uint32_t> begin;
  std::vector<std::int32_t> to;
};

/// Edge i joins a[i] and b[i]; parallel edges count. Requires vertices in range and fewer than 2^31
/// edges.
Adjacency adjacency(int vertices, std::span<const std::int32_t> a, std::span<const std::int32_t> b);

/// A partition of 0 .. class_of.size() - 1. Classes are numbered in the order of their first
/// member.
struct Classes {
  std::vector<std::int32_t> class_of;
  std::vector<std::int32_t> first;  // the smallest member of each class
  std::vector<std::int32_t> size;   // of each class
  int count() const { return static_cast<int>(first.size()); }
};

/// The coarsest equitable partition that is finer than the colours, which are numbers from 0 on.
/// Time is edges times the logarithm of vertices: a class that was split off is only looked at
/// again if it is the smaller part (Hopcroft 1971; Cardon, Crochemore 1982).
///
/// Throws LittleSymmetry as soon as there are more than `most` classes.
Classes equitable_partition(std::span<const std::int32_t> colours,
                            std::span<const Adjacency> kinds_of_edges,
                            int most = std::numeric_limits<int>::max());

class LittleSymmetry : public std::exception {};

}  // namespace collbench
