#include "algorithms/options.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  require(value.has_value(), fmt::format("{} must be a whole number from {} to {}, not '{}'",
                                         label(spec, name), least, most, *text));
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
  const auto found = std::ranges::find(choices, *text);
  require(found != choices.end(), fmt::format("{} must be one of {}, not '{}'", label(spec, name),
                                              fmt::join(choices, ", "), *text));
  return static_cast<std::size_t>(found - choices.begin());
}

std::vector<std::vector<int>> orders_option(const AlgorithmSpec& spec, std::string_view name,
                                            int ranks) {
  const std::string* text = find(spec, name);
  if (text == nullptr || *text == "ranks") return {};
  require(*text != "wires", label(spec, name) +
                                "=wires asks for the rings over a machine's wires; name a machine, "
                                "or write the rings as in 0-1-2+0-2-1");
  std::vector<std::vector<int>> orders;
  for (const std::string& ring : split_at(*text, '+')) {
    std::vector<bool> seen(static_cast<std::size_t>(ranks), false);
    std::vector<int> order;
    for (const std::string& part : split_at(ring, '-')) {
      const auto rank = small_integer_in(part, 0, ranks - 1);
      require(rank && !seen[static_cast<std::size_t>(*rank)],
              fmt::format("{}: '{}' must be every rank from 0 to {} once, joined by -",
                          label(spec, name), ring, ranks - 1));
      seen[static_cast<std::size_t>(*rank)] = true;
      order.push_back(*rank);
    }
    require(static_cast<int>(order.size()) == ranks,
            fmt::format("{}: '{}' has {} ranks, but must be all {}", label(spec, name), ring,
                        order.size(), ranks));
    orders.push_back(std::move(order));
  }
  require(orders.size() <= 64,
          fmt::format("{}: {} rings are more than 64", label(spec, name), orders.size()));
  return orders;
}

std::vector<int> dims_option(const AlgorithmSpec& spec, std::string_view name, int ranks) {
  const std::string* text = find(spec, name);
  if (text == nullptr) return nearly_square(ranks);
  std::vector<int> dims;
  std::int64_t product = 1;
  for (const std::string& part : split_at(*text, 'x')) {
    const auto d = small_integer_in(part, 1, 1 << 20);
    require(d && dims.size() < 8,
            fmt::format("{} must look like 4x2 (up to 8 sizes of at least 1), not '{}'",
                        label(spec, name), *text));
    dims.push_back(*d);
    product = std::min(product * *d, std::int64_t{1} << 40);
  }
  require(product == ranks,
          fmt::format("{}={} makes {} ranks, not {}; {} would fit", label(spec, name), *text,
                      product, ranks, fmt::join(nearly_square(ranks), "x")));
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
          fmt::format("{} needs one of 1, 0, t (torus), m (mesh) for each of {} axes, not '{}'",
                      label(spec, name), axes, *text));
  return wrap;
}

}  // namespace collbench
