// The sums that an all-reduce gave for known inputs, and which orders of additions give the same.
//
// A file of lines: "ranks 8", "type f32", "seed 1", then "values" and one value a line, decimal
// with all its digits or hexadecimal. The inputs are those of rough_value()
// (transports/exact_check.h). Lines that begin with # are remarks.
#pragma once

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "algorithms/expressions.h"
#include "transports/endpoint.h"

namespace collbench {

struct Observation {
  int ranks = 0;
  DataType type = DataType::f32;
  std::uint64_t seed = 1;
  std::vector<double> values;
};

/// Throws InvalidArgument naming the line, and for types other than f32 and f64: whole numbers are
/// the same in every order. At most 1,024 ranks, and 2^27 values times ranks.
Observation read_observation(const std::string& file);
void write_observation(std::ostream& out, Region values, int ranks, std::uint64_t seed);

/// The bytes of what `rank` has to contribute to a vector of this length and type.
std::vector<std::byte> observed_inputs(Region vector, Rank rank, std::uint64_t seed);

/// The sum of element `at` of the inputs in that order, rounded as the type does.
double sum_in_order(const AdditionOrder& order, const Observation& inputs, std::int64_t at);

/// How many of the elements an algorithm would have given.
struct Agreement {
  std::string algorithm;
  std::int64_t agreeing = 0;
  std::int64_t first_unlike = -1;  // -1: none
  bool one_order = false;          // the same for all elements
};
/// For every algorithm of the registry that fits the ranks, with some of their options, and the
/// rules of libraries (library_orders()); those that agree everywhere first. `orders` gets all that
/// they add in.
std::vector<Agreement> judge_orders(const Observation& observed,
                                    std::set<AdditionOrder>* orders = nullptr);

/// Elements that one order explains.
struct OrderRun {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::vector<AdditionOrder> orders;  // that all of them agree with; empty: no known one
};
/// Cuts the elements into as few runs as possible, each of which one order explains: any order of
/// up to 6 ranks; of more `known`, as of judge_orders(), and left folds from every rank.
std::vector<OrderRun> explain_by_element(const Observation& observed,
                                         std::set<AdditionOrder> known);

}  // namespace collbench
