#include "heuristics/measurement.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "core/quantile.h"

namespace collbench {

MethodKey method_of(const MeasuredTime& time) {
  return {time.system, time.library, time.algorithm, time.protocol,
          time.type,   time.op,      time.in_place,  time.collective};
}

std::size_t band_of(Bytes bytes) {
  std::size_t band = 0;
  while (band + 1 < size_bands.size() && bytes > size_bands[band].most) ++band;
  return band;
}

std::vector<MeasuredTime> medians_of(std::span<const MeasuredTime> rows) {
  // As MethodKey, Scale and Bytes are ordered, without a copy of the names for each row.
  const auto point = [](const MeasuredTime* row) {
    return std::tie(row->system, row->library, row->algorithm, row->protocol, row->type, row->op,
                    row->in_place, row->collective, row->scale, row->bytes);
  };
  std::vector<const MeasuredTime*> sorted;
  for (const MeasuredTime& row : rows) sorted.push_back(&row);
  std::ranges::stable_sort(sorted, {}, point);
  std::vector<MeasuredTime> medians;
  for (auto first = sorted.begin(); first != sorted.end();) {
    std::vector<double> times;
    const MeasuredTime* const row = *first;
    for (; first != sorted.end() && point(*first) == point(row); ++first) {
      times.push_back((*first)->time.count());
    }
    medians.push_back(*row);
    medians.back().time = Seconds{quantile(std::move(times), 0.5)};
  }
  return medians;
}

std::string to_string(const GridShape& shape) {
  std::string text;
  for (const int length : shape) {
    if (length > 0) text += fmt::format("{}{}", text.empty() ? "" : "x", length);
  }
  return text;
}

GridShape parse_grid_shape(std::string_view text) {
  GridShape shape{};
  if (text.find('x') == text.npos) return shape;
  const std::vector<std::string> lengths = split_at(text, 'x');
  require(lengths.size() <= shape.size(),
          fmt::format("'{}' has more than {} axes", text, shape.size()));
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    const auto length = small_integer_in(lengths[axis], 1, 9'999'999);
    require(length.has_value(), fmt::format("'{}' is not a shape like 4x4x4", text));
    shape[axis] = *length;
  }
  return shape;
}

std::string full_name(const std::string& algorithm, const std::string& protocol) {
  return protocol.empty() ? algorithm : algorithm + "/" + protocol;
}

bool is_library_default(const std::string& algorithm) {
  return algorithm == "auto" || algorithm == "default" || algorithm == "default-default" ||
         algorithm.rfind("default_", 0) == 0;
}

bool is_nccl(std::string_view library) {
  const std::string name = lower_case(library);
  const bool starts = name.starts_with("nccl") || name.starts_with("rccl");
  return starts && (name.size() == 4 || name[4] < 'a' || name[4] > 'z');
}

std::string to_string(const MethodKey& key) {
  std::string text;
  for (const std::string& part : {key.system, key.library, key.algorithm, key.protocol}) {
    if (part.empty()) continue;
    if (!text.empty()) text += ' ';
    text += part;
  }
  if (key.type != DataType::f32) text += fmt::format(" {}", to_string(key.type));
  if (key.op != ReduceOp::sum) text += fmt::format(" {}", to_string(key.op));
  if (key.collective != CollectiveKind::all_reduce) {
    text += fmt::format(" {}", to_string(key.collective));
  }
  return text + (key.in_place ? " in place" : "");
}

std::string to_string(const Scale& scale) {
  if (scale.nodes == 0) return counted(scale.ranks, "rank");
  if (scale.is_host()) return counted(scale.ranks, "rank") + " on " + counted(scale.cores, "core");
  const std::string shape = to_string(scale.shape);
  return counted(scale.ranks, "rank") + " on " +
         (shape.empty() ? counted(scale.nodes, "node") : shape + " nodes");
}

}  // namespace collbench
