// "Did you mean": the known name nearest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace collbench {

/// The candidate with the smallest Damerau-Levenshtein distance to `name` (at most 2, and less than
/// the length of `name`); empty if none. Source: Damerau 1964, restricted (optimal string
/// alignment).
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

/// " Did you mean 'ring'?" or "" : appended to messages about unknown names.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

/// "unknown KIND 'NAME'. Did you mean 'ring'? Known are ring, tree": for messages. KIND may be
/// empty.
std::string unknown_name(std::string_view kind, std::string_view name,
                         const std::vector<std::string>& known);

/// The place of `name` in `known`. Throws InvalidArgument with unknown_name() if it has none.
std::size_t index_of(std::string_view kind, std::string_view name,
                     const std::vector<std::string>& known);
std::size_t index_of(std::string_view kind, std::string_view name,
                     std::span<const std::string_view> known);

/// The same, "LABEL: unknown KIND 'NAME' ...", where `label` is what gave the name, as an option.
std::size_t require_known(const std::string& label, std::string_view name,
                          const std::vector<std::string>& known, std::string_view kind = "");

/// The row of a table whose member `name` is `name`. Throws likewise.
template <typename Rows>
const auto& find_row(std::string_view kind, std::string_view name, const Rows& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw InvalidArgument(unknown_name(kind, name, names));
}

}  // namespace collbench
