// Change points of a series: where its level moved for good.
//
// Windowed E-divisive, as MongoDB, Hunter and Apache Otava use it: within a window the best split
// is where the energy distance of the two parts is largest (Szekely and Rizzo 2004, Matteson and
// James 2014); Student's t decides whether to keep it. Candidates of all windows are then judged
// together, the weakest first, until every one left parts its neighbours.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace collbench {

struct ChangeRule {
  std::size_t window = 50;     // points looked at together
  std::size_t shortest = 3;    // points on either side of a change
  double p = 1e-4;             // largest chance of a change that is none
  double least_change = 0.03;  // of the level, relative
};

struct ChangePoint {
  std::size_t at = 0;  // the first point of the new level
  double before = 0;   // means of the stretches on its two sides
  double after = 0;
  double p = 1;  // of a difference so large by chance
};

/// The changes in a series of values above zero, in its order.
std::vector<ChangePoint> change_points(std::span<const double> series, const ChangeRule& rule);

/// The energy statistic of every split, from `shortest` points on the left to as many on the right:
/// n m / (n + m) (2 E|X - Y| - E|X - X'| - E|Y - Y'|). Empty for a series too short.
std::vector<double> energy_of_splits(std::span<const double> series, std::size_t shortest);

/// Two-sided chance of so different means in samples of equal variance (Student 1908). 1 if either
/// has fewer than two values.
double t_test(std::span<const double> first, std::span<const double> second);

/// P(X >= successes) of so many trials, each with this chance.
double at_least(double successes, double trials, double chance);

/// P(|T| > |t|) of Student's distribution.
double student_two_sided(double t, double degrees_of_freedom);

}  // namespace collbench
