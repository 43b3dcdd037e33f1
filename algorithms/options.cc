#include "algorithms/options.h"

#include <string>

#include "core/error.h"
#include "core/parse.h"

namespace collbench {
namespace {

const std::string* find(const AlgorithmSpec& spec, std::string_view name) {
  const auto found = spec.options.find(std::string(name));
  return found == spec.options.end() || found->second == "auto" ? nullptr : &found->second;
}

std::string label(const AlgorithmSpec& spec, std::string_view name) {
  return spec.name + ": option " + std::string(name);
}

std::string join(const std::vector<int>& dims) {
  std::string text;
  for (const int d : dims) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text;
}

std::vector<int> nearly_square(int ranks) {
  int width = 1;
  for (int d = 1; d <= ranks / d; ++d) {
    if (ranks % d == 0) width = d;
  }
  return {width, ranks / width};
}

}  // namespace

int int_option(const AlgorithmSpec& spec, std::string_view name, int fallback, int least,
               int most) {
  const std::string* text = find(spec, name);
  if (text == nullptr) return fallback;
  const auto value = small_integer_in(*text, least, most);
  require(value.has_value(), label(spec, name) + " must be a whole number from " +
                                 std::to_string(least) + " to " + std::to_string(most) + ", not '" +
                                 *text + "'");
  return *value;
}

bool flag_option(const AlgorithmSpec& spec, std::string_view name) {
  const std::string* text = find(spec, name);
  if (text == nullptr) return false;
  if (text->empty() || *text == "1" || *text == "true") return true;
  require(*text == "0" || *text == "false",
          label(spec, name) + " is a flag: leave it out or write 0 or 1, not '" + *text + "'");
  return false;
}

std::size_t choice_option(const AlgorithmSpec& spec, std::string_view name,
                          std::span<const std::string_view> choices) {
  const std::string* text = find(spec, name);
  if (text == nullptr) return 0;
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (*text == choices[i]) return i;
    list += (i == 0 ? "" : ", ") + std::string(choices[i]);
  }
  throw InvalidArgument(label(spec, name) + " must be one of " + list + ", not '" + *text + "'");
}

std::vector<int> dims_option(const AlgorithmSpec& spec, std::string_view name, int ranks) {
  const std::string* text = find(spec, name);
  if (text == nullptr) return nearly_square(ranks);
  std::vector<int> dims;
  std::int64_t product = 1;
  for (std::size_t begin = 0; begin <= text->size();) {
    const std::size_t end = std::min(text->find('x', begin), text->size());
    const auto d = small_integer_in(std::string_view(*text).substr(begin, end - begin), 1, 1 << 20);
    require(d && dims.size() < 8, label(spec, name) +
                                      " must look like 4x2 (up to 8 sizes of at least 1), not '" +
                                      *text + "'");
    dims.push_back(*d);
    product = std::min(product * *d, std::int64_t{1} << 40);
    begin = end + 1;
  }
  require(product == ranks, label(spec, name) + "=" + *text + " makes " + std::to_string(product) +
                                " ranks, not " + std::to_string(ranks) + "; " +
                                join(nearly_square(ranks)) + " would fit");
  return dims;
}

std::vector<bool> wrap_option(const AlgorithmSpec& spec, std::string_view name, std::size_t axes) {
  const std::string* text = find(spec, name);
  if (text == nullptr) return std::vector<bool>(axes, true);
  std::vector<bool> wrap;
  bool readable = true;
  for (const char c : *text) {
    if (c == '1' || c == 't') {
      wrap.push_back(true);
    } else if (c == '0' || c == 'm') {
      wrap.push_back(false);
    } else {
      readable = readable && (c == ',' || c == 'x');
    }
  }
  require(readable && wrap.size() == axes,
          label(spec, name) + " needs one of 1, 0, t (torus), m (mesh) for each of " +
              std::to_string(axes) + " axes, not '" + *text + "'");
  return wrap;
}

}  // namespace collbench
