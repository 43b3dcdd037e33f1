#include "heuristics/structure/library_choice.h"

#include <cmath>

namespace collbench {
namespace {

constexpr double short_vector = 2048;

double log2_bytes(Bytes bytes) { return std::log2(static_cast<double>(bytes.count)); }

/// The method that took the time nearest to that of the choice; nothing if it stands alone.
std::optional<PlayedMethod> nearest_method(std::span<const MeasuredTime> rows,
                                           const MeasuredTime& choice) {
  std::optional<PlayedMethod> nearest;
  double least = 0;
  for (const MeasuredTime& row : rows) {
    if (row.scale != choice.scale || row.bytes != choice.bytes) continue;
    if (row.library != choice.library) continue;
    const auto played = played_method(method_of(row), row.scale);
    if (!played || played->falls_back || family_of(*played) == PlayedFamily::choice) continue;
    const double away = std::abs(std::log(row.time / choice.time));
    if (nearest && away >= least) continue;
    nearest = played;
    least = away;
  }
  return nearest;
}

}  // namespace

LibraryChoices::LibraryChoices(std::span<const MeasuredTime> rows) {
  std::map<std::string, int> largest;
  const auto is_choice = [](const MeasuredTime& row) {
    const auto played = played_method(method_of(row), row.scale);
    return played && played->form == PlayedForm::library_choice;
  };
  for (const MeasuredTime& row : rows) {
    if (!is_choice(row)) continue;
    int& nodes = largest[row.algorithm];
    nodes = std::max(nodes, row.scale.nodes);
  }
  for (const MeasuredTime& row : rows) {
    if (!is_choice(row) || row.scale.nodes != largest[row.algorithm]) continue;
    if (const auto nearest = nearest_method(rows, row)) {
      by_size_[row.algorithm].insert_or_assign(log2_bytes(row.bytes), *nearest);
    }
  }
}

PlayedMethod LibraryChoices::resolve(const PlayedMethod& played, const MethodKey& method,
                                     double bytes) const {
  if (played.form != PlayedForm::library_choice) return played;
  const auto own = by_size_.find(method.algorithm);
  if (own == by_size_.end()) {
    PlayedMethod usual = played;
    usual.form = bytes > short_vector && played.interconnect == Interconnect::switched
                     ? PlayedForm::halving
                     : PlayedForm::doubling;
    return usual;
  }
  const double size = std::log2(bytes);
  const auto& sizes = own->second;
  auto nearest = sizes.begin();
  for (auto each = sizes.begin(); each != sizes.end(); ++each) {
    if (std::abs(each->first - size) < std::abs(nearest->first - size)) nearest = each;
  }
  return nearest->second;
}

}  // namespace collbench
