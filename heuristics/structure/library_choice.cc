#include "heuristics/structure/library_choice.h"

#include <cmath>
#include <vector>

namespace collbench {
namespace {

constexpr double short_vector = 2048;
constexpr double same_time = 0.05;  // of logarithms; a batch of measurements repeats no better

bool is_same_work(const MeasuredTime& a, const MeasuredTime& b) {
  return a.type == b.type && a.op == b.op && a.in_place == b.in_place && a.protocol == b.protocol;
}

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
    if (row.library != choice.library || !is_same_work(row, choice)) continue;
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
  std::map<MethodKey, int> largest;
  const auto is_choice = [](const MeasuredTime& row) {
    const auto played = played_method(method_of(row), row.scale);
    return played && played->form == PlayedForm::library_choice;
  };
  std::vector<const MeasuredTime*> choices;
  for (const MeasuredTime& row : rows) {
    if (!is_choice(row)) continue;
    choices.push_back(&row);
    int& nodes = largest[method_of(row)];
    nodes = std::max(nodes, row.scale.nodes);
  }
  for (const MeasuredTime* row : choices) {
    const MethodKey choice = method_of(*row);
    if (row->scale.nodes != largest[choice]) continue;
    if (const auto nearest = nearest_method(rows, *row)) {
      by_choice_[choice].insert_or_assign(log2_bytes(row->bytes), *nearest);
    }
  }
}

/// Its own, else those of its build with another type or operator, else of another build.
const LibraryChoices::MethodsBySize* LibraryChoices::choices_of(const MethodKey& method) const {
  const auto own = by_choice_.find(method);
  if (own != by_choice_.end()) return &own->second;
  const MethodsBySize* alike = nullptr;
  for (const auto& [choice, sizes] : by_choice_) {
    if (choice.algorithm != method.algorithm) continue;
    if (choice.library == method.library) return &sizes;
    alike = &sizes;
  }
  return alike;
}

PlayedMethod LibraryChoices::resolve(const PlayedMethod& played, const MethodKey& method,
                                     const Scale& scale, double bytes) const {
  if (played.form != PlayedForm::library_choice) return played;
  const MethodsBySize* sizes = choices_of(method);
  if (sizes == nullptr) {
    PlayedMethod usual = played;
    usual.form = bytes > short_vector && played.interconnect == Interconnect::switched
                     ? PlayedForm::halving
                     : PlayedForm::doubling;
    return usual;
  }
  const double size = std::log2(bytes);
  auto nearest = sizes->begin();
  for (auto each = sizes->begin(); each != sizes->end(); ++each) {
    if (std::abs(each->first - size) < std::abs(nearest->first - size)) nearest = each;
  }
  return *played_method(nearest->second, scale);
}

}  // namespace collbench
