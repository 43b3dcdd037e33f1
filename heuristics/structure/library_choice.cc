#include "heuristics/structure/library_choice.h"

#include <cmath>
#include <vector>

namespace collbench {
namespace {

constexpr double short_vector = 2048;
constexpr double same_time = 0.05;  // of logarithms; a batch of measurements repeats no better

double log2_bytes(Bytes bytes) { return std::log2(static_cast<double>(bytes.count)); }

/// The method that took the time nearest to that of the choice; nothing if it stands alone. A
/// method that falls back to a ring there is nearer than the ring where both took the time of the
/// choice: libraries choose trees along the axes of a torus for long vectors, and the ring is what
/// axes that are too short leave of them.
std::optional<MethodKey> nearest_method(std::span<const MeasuredTime> rows,
                                        const MeasuredTime& choice) {
  std::optional<MethodKey> nearest;
  std::optional<MethodKey> falling_back;
  bool is_ring = false;
  double least = 0;
  for (const MeasuredTime& row : rows) {
    if (row.scale != choice.scale || row.bytes != choice.bytes) continue;
    if (row.library != choice.library) continue;
    const auto played = played_method(method_of(row), row.scale);
    if (!played || family_of(*played) == PlayedFamily::choice) continue;
    const double away = std::abs(std::log(row.time / choice.time));
    if (played->falls_back) {
      if (away < same_time) falling_back = method_of(row);
      continue;
    }
    if (nearest && away >= least) continue;
    nearest = method_of(row);
    is_ring = played->form == PlayedForm::ring;
    least = away;
  }
  return is_ring && falling_back ? falling_back : nearest;
}

}  // namespace

LibraryChoices::LibraryChoices(std::span<const MeasuredTime> rows) {
  std::map<std::string, int> largest;
  const auto is_choice = [](const MeasuredTime& row) {
    const auto played = played_method(method_of(row), row.scale);
    return played && played->form == PlayedForm::library_choice;
  };
  std::vector<const MeasuredTime*> choices;
  for (const MeasuredTime& row : rows) {
    if (!is_choice(row)) continue;
    choices.push_back(&row);
    int& nodes = largest[row.algorithm];
    nodes = std::max(nodes, row.scale.nodes);
  }
  for (const MeasuredTime* row : choices) {
    if (row->scale.nodes != largest[row->algorithm]) continue;
    if (const auto nearest = nearest_method(rows, *row)) {
      by_size_[row->algorithm].insert_or_assign(log2_bytes(row->bytes), *nearest);
    }
  }
}

PlayedMethod LibraryChoices::resolve(const PlayedMethod& played, const MethodKey& method,
                                     const Scale& scale, double bytes) const {
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
  return *played_method(nearest->second, scale);
}

}  // namespace collbench
