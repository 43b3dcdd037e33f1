// Reads the cost formulas of the registry, so that what a row claims is what the tests check.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// What a formula may name: n, L = ceil(log2 n), p = the largest power of two up to n, S, k ...
struct FormulaContext {
  std::map<char, double> variables;
  std::vector<int> dims;  // sum(...) runs over them as d
};

/// Evaluates + - * / ( ) > and log2, floor, ceil, sum, as in "2*(p-1)/p+(n>p)".
/// Throws InvalidArgument for anything else.
double evaluate(std::string_view formula, const FormulaContext& context);

/// One claim of a cost text such as "rounds 2*(n-1); sent <= 3; reduced (n-1)/n".
struct Claim {
  std::string formula;
  bool is_bound = false;  // "<=": the schedule may cost less
};
/// The claim about `quantity`. Throws InvalidArgument if there is none.
Claim find_claim(std::string_view cost, std::string_view quantity);

}  // namespace collbench
