#include "heuristics/synthesis/linear_program.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <Eigen/Core>

#include "core/error.h"

namespace collbench {
namespace {

constexpr double negligible = 1e-11;  // of values, which are about 1
constexpr double least_pivot = 1e-8;
constexpr double perturbation = 1e-11;
constexpr int most_pivots = 50;  // for each row and column; about one is usual

// Where solving spends its time: Eigen does several columns at once.
void subtract(double times, const std::vector<double>& row, std::vector<double>& from) {
  const auto size = static_cast<Eigen::Index>(row.size());
  Eigen::Map<Eigen::ArrayXd>(from.data(), size) -=
      times * Eigen::Map<const Eigen::ArrayXd>(row.data(), size);
}

}  // namespace

LinearProgram::LinearProgram(std::vector<double> gains, double most)
    : columns_(static_cast<int>(gains.size())), gains_(std::move(gains)), next_slack_(columns_) {
  std::uint64_t state = 0x9e3779b97f4a7c15u;
  for (int j = 0; j < columns_; ++j) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    cost_.push_back(-perturbation * (1 + static_cast<double>(state >> 40) * 0x1p-24));
    nonbasic_.push_back(j);
    column_of_.push_back(j);
    row_of_.push_back(-1);
  }
  TableRow bound{gains_, most, next_slack_++, true, 0};
  lasting_slack_.push_back(true);
  rows_.push_back(std::move(bound));
  const auto largest = std::max_element(gains_.begin(), gains_.end()) - gains_.begin();
  cost_[largest] = 0;
  pivot(0, static_cast<int>(largest));
  // The whole gain is `most` less what the slack of this row takes away.
  cost_[largest] = -1;
}

int LinearProgram::add(const LinearRow& row, bool lasting) {
  TableRow made;
  made.factor.assign(static_cast<std::size_t>(columns_), 0);
  made.value = row.limit;
  made.basic = next_slack_++;
  made.lasting = lasting;
  lasting_slack_.push_back(lasting);
  for (const auto& [variable, factor] : row.terms) {
    if (column_of_[variable] >= 0) {
      made.factor[column_of_[variable]] += factor;
      continue;
    }
    const TableRow& basic = rows_[row_of_[variable]];
    made.value -= factor * basic.value;
    subtract(factor, basic.factor, made.factor);
  }
  rows_.push_back(std::move(made));
  return rows_.back().basic - columns_ - 1;  // the first slack is that of the bound
}

void LinearProgram::pivot(std::size_t row, int column) {
  TableRow& leaving = rows_[row];
  const double by = 1 / leaving.factor[column];
  for (double& factor : leaving.factor) factor *= by;
  leaving.factor[column] = by;
  leaving.value *= by;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (i == row) continue;
    TableRow& other = rows_[i];
    const double times = other.factor[column];
    if (times == 0) continue;
    other.factor[column] = 0;
    subtract(times, leaving.factor, other.factor);
    other.value -= times * leaving.value;
  }
  const double times = cost_[column];
  cost_[column] = 0;
  subtract(times, leaving.factor, cost_);
  std::swap(nonbasic_[column], leaving.basic);
  if (nonbasic_[column] < static_cast<int>(column_of_.size())) {
    column_of_[nonbasic_[column]] = column;
    row_of_[nonbasic_[column]] = -1;
  }
  if (leaving.basic < static_cast<int>(column_of_.size())) {
    column_of_[leaving.basic] = -1;
    row_of_[leaving.basic] = static_cast<int>(row);
  }
  leaving.lasting = leaving.basic < columns_ || lasting_slack_[leaving.basic - columns_];
  leaving.idle = 0;
}

int LinearProgram::leaving_row() const {
  int worst = -1;
  double least = -negligible;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].value >= least) continue;
    least = rows_[i].value;
    worst = static_cast<int>(i);
  }
  return worst;
}

// The column that keeps all costs at most 0; of nearly equal ones that with the largest pivot.
int LinearProgram::entering_column(const TableRow& row) const {
  double least = INFINITY;
  for (int j = 0; j < columns_; ++j) {
    if (row.factor[j] < -least_pivot) {
      least = std::min(least, (cost_[j] - perturbation) / row.factor[j]);
    }
  }
  int best = -1;
  for (int j = 0; j < columns_; ++j) {
    if (row.factor[j] >= -least_pivot || cost_[j] / row.factor[j] > least) continue;
    if (best < 0 || row.factor[j] < row.factor[best]) best = j;
  }
  return best;
}

int LinearProgram::solve() {
  int pivots = 0;
  const int most = most_pivots * (rows() + columns_);
  for (int row = leaving_row(); row >= 0; row = leaving_row()) {
    require(pivots < most, fmt::format("a linear program of {} rows and {} columns goes round in "
                                       "circles",
                                       rows(), columns_));
    const int column = entering_column(rows_[row]);
    if (column < 0) {
      rows_[row].value = 0;  // breaks by rounding only: y = 0 is always allowed
      continue;
    }
    pivot(static_cast<std::size_t>(row), column);
    ++pivots;
  }
  values_.assign(static_cast<std::size_t>(columns_), 0);
  for (const TableRow& row : rows_) {
    if (row.basic < columns_) values_[row.basic] = std::max(0.0, row.value);
  }
  return pivots;
}

void LinearProgram::drop_slack_rows(int patience) {
  const auto is_done = [&](TableRow& row) {
    const bool idles = !row.lasting && row.value > negligible;
    row.idle = idles ? row.idle + 1 : 0;
    return row.idle >= patience;
  };
  rows_.erase(std::remove_if(rows_.begin(), rows_.end(), is_done), rows_.end());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].basic < columns_) row_of_[rows_[i].basic] = static_cast<int>(i);
  }
}

double LinearProgram::gain() const {
  double sum = 0;
  for (int j = 0; j < columns_; ++j) sum += gains_[j] * values_[j];
  return sum;
}

std::vector<std::pair<int, double>> LinearProgram::prices() const {
  std::vector<std::pair<int, double>> prices;
  for (int j = 0; j < columns_; ++j) {
    const int row = nonbasic_[j] - columns_ - 1;
    if (row >= 0 && cost_[j] < -4 * perturbation) prices.emplace_back(row, -cost_[j]);
  }
  return prices;
}

}  // namespace collbench
