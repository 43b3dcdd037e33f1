#include "tests/algorithms/formula.h"

#include <cctype>
#include <cmath>
#include <cstdlib>

#include "core/error.h"

namespace collbench {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const FormulaContext& context) : text_(text), context_(context) {}

  double whole() {
    const double value = comparison();
    require(at_ == text_.size(), "formula '" + text_ + "': stray text at " + std::to_string(at_));
    return value;
  }

 private:
  bool take(std::string_view token) {
    if (text_.compare(at_, token.size(), token) != 0) return false;
    at_ += token.size();
    return true;
  }

  double comparison() {
    const double left = sum();
    return take(">") ? static_cast<double>(left > sum()) : left;
  }

  double sum() {
    double value = product();
    for (;;) {
      if (take("+")) {
        value += product();
      } else if (take("-")) {
        value -= product();
      } else {
        return value;
      }
    }
  }

  double product() {
    double value = factor();
    for (;;) {
      if (take("*")) {
        value *= factor();
      } else if (take("/")) {
        value /= factor();
      } else {
        return value;
      }
    }
  }

  double parenthesised() {
    const double value = comparison();
    require(take(")"), "formula '" + text_ + "': ')' is missing at " + std::to_string(at_));
    return value;
  }

  double factor() {
    if (take("(")) return parenthesised();
    if (take("log2(")) return std::log2(parenthesised());
    if (take("floor(")) return std::floor(parenthesised());
    if (take("ceil(")) return std::ceil(parenthesised());
    if (take("sum(")) return sum_over_dims();
    require(at_ < text_.size(), "formula '" + text_ + "' ends too early");
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      char* end = nullptr;
      const double value = std::strtod(text_.c_str() + at_, &end);
      at_ = static_cast<std::size_t>(end - text_.c_str());
      return value;
    }
    const auto found = context_.variables.find(text_[at_]);
    require(found != context_.variables.end(),
            "formula '" + text_ + "': unknown name at " + std::to_string(at_));
    ++at_;
    return found->second;
  }

  double sum_over_dims() {
    const std::size_t begin = at_;
    double total = 0;
    require(!context_.dims.empty(), "formula '" + text_ + "': sum() without dims");
    for (const int d : context_.dims) {
      at_ = begin;
      context_.variables['d'] = d;
      total += parenthesised();
    }
    return total;
  }

  std::string text_;
  FormulaContext context_;
  std::size_t at_ = 0;
};

}  // namespace

double evaluate(std::string_view formula, const FormulaContext& context) {
  return Parser(formula, context).whole();
}

Claim find_claim(std::string_view cost, std::string_view quantity) {
  for (std::size_t begin = 0; begin < cost.size();) {
    const std::size_t end = std::min(cost.find("; ", begin), cost.size());
    std::string_view part = cost.substr(begin, end - begin);
    begin = end + 2;
    if (!part.starts_with(quantity) || part[quantity.size()] != ' ') continue;
    part.remove_prefix(quantity.size() + 1);
    const bool is_bound = part.starts_with("<= ");
    if (is_bound) part.remove_prefix(3);
    return {std::string(part), is_bound};
  }
  throw InvalidArgument("no " + std::string(quantity) + " in '" + std::string(cost) + "'");
}

}  // namespace collbench
