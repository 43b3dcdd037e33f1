#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "topologies/draw/outline.h"

namespace collbench {
namespace {

constexpr double margin = 60;

double spacing_for(int shapes) { return shapes <= 16 ? 84 : (shapes <= 40 ? 46 : 26); }

void arrange_circle(Outline& picture) {
  int ring = 0;
  for (const DrawnShape& shape : picture.shapes) ring += shape.hosts > 0 ? 1 : 0;
  picture.spacing = spacing_for(ring);
  const double radius = std::max(110.0, ring * picture.spacing / (2 * std::numbers::pi));
  picture.width = picture.height = 2 * (radius + margin);
  int placed = 0;
  for (DrawnShape& shape : picture.shapes) {
    shape.x = shape.y = radius + margin;
    if (shape.hosts == 0) continue;
    shape.angle = 2 * std::numbers::pi * placed++ / ring - std::numbers::pi / 2;
    shape.x += radius * std::cos(shape.angle);
    shape.y += radius * std::sin(shape.angle);
  }
}

// Innermost axis to the right, the second down; a third goes back into the picture, which shows as
// a small shift; a fourth and more put such blocks side by side.
void arrange_grid(Outline& picture) {
  std::vector<int> length = picture.blocks;
  length.resize(std::max<std::size_t>(length.size(), 3), 1);
  const int planes = length[2];
  const double shift_x = planes > 1 ? 30 : 0;
  const double shift_y = planes > 1 ? 24 : 0;
  const double step_x = planes > 1 ? planes * shift_x + 34 : (length[0] > 12 ? 46 : 70);
  const double step_y = planes > 1 ? planes * shift_y + 34 : step_x;
  const double block_width = length[0] * step_x + planes * shift_x + 30;
  picture.spacing = planes > 1 ? 34 : step_x;
  picture.reach = std::max(step_x, step_y);
  for (std::size_t i = 0; i < picture.shapes.size(); ++i) {
    auto rest = static_cast<int>(i);
    const int x = rest % length[0];
    rest /= length[0];
    const int y = rest % length[1];
    rest /= length[1];
    const int z = rest % planes;
    DrawnShape& shape = picture.shapes[i];
    shape.x = margin + rest / planes * block_width + x * step_x + z * shift_x;
    shape.y = margin + y * step_y + (planes - 1 - z) * shift_y;
    picture.width = std::max(picture.width, shape.x + margin);
    picture.height = std::max(picture.height, shape.y + margin);
  }
}

// Hosts in their order, switches above the middle of what they join, what dangles below, all moved
// apart where they would stand too near.
class VertexRows {
 public:
  explicit VertexRows(Outline& picture) : picture_(picture) {
    lift_wide_switches();
    for (std::size_t i = 0; i < picture.shapes.size(); ++i) {
      rows_[picture.shapes[i].level].push_back(static_cast<int>(i));
    }
    const std::vector<int>& hosts = rows_[0];
    picture.spacing = spacing_for(static_cast<int>(hosts.size()));
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      shape(hosts[i]).x = static_cast<double>(i) * picture.spacing;
    }
    for (auto& [key, row] : rows_) {
      const int level = key;
      const auto is_below = [level](int other) { return other >= 0 && other < level; };
      if (level > 0) place(row, is_below, 0);
    }
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) {
      const int level = row->first;
      if (level >= 0) continue;
      // The way down leads between the hosts.
      place(
          row->second, [level](int other) { return other > level; },
          level == -1 ? picture.spacing / 2 : 0);
    }
    set_size();
  }

 private:
  DrawnShape& shape(int index) { return picture_.shapes[static_cast<std::size_t>(index)]; }

  // Switches on whole nodes stay in the first row; those that join all of these go above them.
  void lift_wide_switches() {
    std::map<int, std::pair<int, int>> span;  // of the hosts below each switch of the first row
    for (const Line& line : picture_.lines) {
      for (const auto& [s, h] : {std::pair{line.a, line.b}, std::pair{line.b, line.a}}) {
        if (shape(s).level != 1 || shape(h).level != 0) continue;
        const auto [found, is_new] = span.try_emplace(s, h, h);
        found->second = {std::min(found->second.first, h), std::max(found->second.second, h)};
      }
    }
    if (span.empty()) return;
    const auto width = [](const auto& entry) { return entry.second.second - entry.second.first; };
    int least = width(*span.begin());
    for (const auto& entry : span) least = std::min(least, width(entry));
    const auto is_wide = [&](const auto& entry) { return width(entry) > 2 * least + 1; };
    if (least == 0 || std::none_of(span.begin(), span.end(), is_wide)) return;
    for (DrawnShape& s : picture_.shapes) s.level += s.level > 1 ? 1 : 0;
    for (const auto& entry : span) shape(entry.first).level += is_wide(entry) ? 1 : 0;
  }

  template <class Counts>
  void place(std::vector<int>& row, const Counts& counts, double aside) {
    for (const int s : row) {
      double sum = 0;
      int count = 0;
      for (const Line& line : picture_.lines) {
        if (line.a != s && line.b != s) continue;
        const DrawnShape& other = shape(line.a == s ? line.b : line.a);
        if (!counts(other.level)) continue;
        sum += other.x;
        ++count;
      }
      if (count > 0) shape(s).x = sum / count + aside;
    }
    std::stable_sort(row.begin(), row.end(), [&](int a, int b) { return shape(a).x < shape(b).x; });
    const bool is_crowded = row.size() > 14;
    for (const int s : row) shape(s).is_crowded = is_crowded;
    spread(row, std::max(picture_.spacing, is_crowded ? 32.0 : 62.0));
  }

  // The places nearest to the wanted ones, by the squares, with at least `gap` between neighbours:
  // pool adjacent violators.
  void spread(const std::vector<int>& row, double gap) {
    struct Pool {
      double sum;
      int count;
      double mean() const { return sum / count; }
    };
    std::vector<Pool> pools;
    for (std::size_t i = 0; i < row.size(); ++i) {
      pools.push_back({shape(row[i]).x - gap * static_cast<double>(i), 1});
      while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
        pools[pools.size() - 2].sum += pools.back().sum;
        pools[pools.size() - 2].count += pools.back().count;
        pools.pop_back();
      }
    }
    std::size_t i = 0;
    for (const Pool& pool : pools) {
      for (int k = 0; k < pool.count; ++k, ++i) {
        shape(row[i]).x = pool.mean() + gap * static_cast<double>(i);
      }
    }
  }

  void set_size() {
    double left = 0;
    double right = 0;
    for (const DrawnShape& s : picture_.shapes) {
      left = std::min(left, s.x);
      right = std::max(right, s.x);
    }
    const double row_height = std::clamp((right - left) / 9, 110.0, 260.0);
    const int top = rows_.rbegin()->first;
    for (DrawnShape& s : picture_.shapes) {
      s.x += margin - left;
      s.y = margin + (top - s.level) * row_height;
    }
    picture_.width = right - left + 2 * margin;
    picture_.height = (top - rows_.begin()->first) * row_height + 2 * margin;
  }

  Outline& picture_;
  std::map<int, std::vector<int>> rows_;
};

// An arc where two shapes of one row or column are joined past a third; in grids where arcs would
// cover each other, only the two ends of such a line.
void bend(Outline& picture) {
  if (picture.reach == 0) picture.reach = picture.spacing;
  const bool is_grid = picture.arrangement == Arrangement::grid;
  int longest = 0;
  for (const int length : picture.blocks) longest = std::max(longest, length);
  const bool is_dense = picture.blocks.size() > 2 || longest > 5;
  for (Line& line : picture.lines) {
    const DrawnShape& a = picture.shapes[static_cast<std::size_t>(line.a)];
    const DrawnShape& b = picture.shapes[static_cast<std::size_t>(line.b)];
    const double distance = std::hypot(a.x - b.x, a.y - b.y);
    const bool is_far = distance > 1.5 * picture.reach;
    if (is_grid && is_far) line.path = is_dense ? DrawnPath::ends : DrawnPath::arc;
    const bool is_in_row = picture.arrangement == Arrangement::levels && a.level == b.level;
    if (is_in_row && is_far) line.path = DrawnPath::arc;
  }
}

}  // namespace

void arrange(Outline& picture) {
  switch (picture.arrangement) {
    case Arrangement::circle:
      arrange_circle(picture);
      break;
    case Arrangement::grid:
      arrange_grid(picture);
      break;
    case Arrangement::levels:
      VertexRows{picture};
      break;
  }
  bend(picture);
}

}  // namespace collbench
