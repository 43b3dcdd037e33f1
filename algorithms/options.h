// Reads the options of an algorithm spec as numbers, flags and lists, with errors that say what
// would be right.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "algorithms/registry.h"

namespace collbench {

/// The whole number of option `name`, or `fallback` if absent or "auto". Throws InvalidArgument
/// unless it lies in [least, most].
int int_option(const AlgorithmSpec& spec, std::string_view name, int fallback, int least, int most);

/// Whether flag `name` is given, also as name=1; name=0 and name=false switch it off.
bool flag_option(const AlgorithmSpec& spec, std::string_view name);

/// The index in `choices` of option `name`; 0 if absent.
std::size_t choice_option(const AlgorithmSpec& spec, std::string_view name,
                          std::span<const std::string_view> choices);

/// The sizes of option `name` ("4x4x2"), whose product must be `ranks`; if absent or "auto", the
/// most nearly square AxB with A <= B.
std::vector<int> dims_option(const AlgorithmSpec& spec, std::string_view name, int ranks);

/// The orders of all ranks in option `name`, "0-1-2+0-2-1"; none if absent or "ranks". Throws
/// InvalidArgument for what is no such order, and for "wires", which only a machine can tell.
std::vector<std::vector<int>> orders_option(const AlgorithmSpec& spec, std::string_view name,
                                            int ranks);

/// One truth value per axis: "1,0", "10" or "tm" (torus, mesh); all true if absent.
std::vector<bool> wrap_option(const AlgorithmSpec& spec, std::string_view name, std::size_t axes);

}  // namespace collbench
