// Pickles of plain types (None, numbers, text, lists, tuples, dictionaries) as JSON.
//
// An interpreter that builds values and never calls anything: opcodes that name a class or call one
// (GLOBAL, REDUCE, BUILD and their like) are refused. The number of values, their size written out
// and their depth are bounded, as memo references can repeat one value many times.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// The value as JSON on one line, members in the order of the pickle. Tuples become arrays, bytes
/// text, keys text, None and what is not finite null. Of a pickle that ends early the values that
/// were complete, and `cut` is true. Throws InvalidArgument, WHAT: REASON, for another opcode or a
/// value out of bounds.
std::string json_of_pickle(std::string_view pickle, const std::string& what, bool& cut);

}  // namespace collbench
