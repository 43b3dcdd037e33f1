#include "heuristics/synthesis/max_flow.h"

#include <algorithm>

namespace collbench {

template <class Amount>
MaxFlow<Amount>::MaxFlow(int vertices)
    : first_(static_cast<std::size_t>(vertices), -1), level_(static_cast<std::size_t>(vertices)) {}

template <class Amount>
int MaxFlow<Amount>::add_arc(int from, int to) {
  const int arc = static_cast<int>(capacity_.size());
  halves_.push_back({to, first_[from]});
  first_[from] = 2 * arc;
  halves_.push_back({from, first_[to]});
  first_[to] = 2 * arc + 1;
  capacity_.push_back(0);
  return arc;
}

template <class Amount>
void MaxFlow<Amount>::set_capacity(int arc, Amount capacity) {
  capacity_[arc] = capacity;
}

template <class Amount>
bool MaxFlow<Amount>::find_levels(int source, int sink) {
  std::fill(level_.begin(), level_.end(), -1);
  queue_.assign(1, source);
  level_[source] = 0;
  for (std::size_t head = 0; head < queue_.size() && level_[sink] < 0; ++head) {
    const int vertex = queue_[head];
    for (int half = first_[vertex]; half >= 0; half = halves_[half].next) {
      const int to = halves_[half].to;
      if (residual_[half] <= 0 || level_[to] >= 0) continue;
      level_[to] = level_[vertex] + 1;
      queue_.push_back(to);
    }
  }
  return level_[sink] >= 0;
}

template <class Amount>
Amount MaxFlow<Amount>::push(int vertex, int sink, Amount limit) {
  if (vertex == sink) return limit;
  Amount pushed = 0;
  for (int& half = cursor_[vertex]; half >= 0; half = halves_[half].next) {
    const int to = halves_[half].to;
    if (residual_[half] <= 0 || level_[to] != level_[vertex] + 1) continue;
    const Amount part = push(to, sink, std::min<Amount>(limit - pushed, residual_[half]));
    residual_[half] -= part;
    residual_[half ^ 1] += part;
    pushed += part;
    if (pushed == limit) return pushed;
  }
  return pushed;
}

template <class Amount>
void MaxFlow<Amount>::clear() {
  residual_.resize(halves_.size());
  for (std::size_t arc = 0; arc < capacity_.size(); ++arc) {
    residual_[2 * arc] = capacity_[arc];
    residual_[2 * arc + 1] = 0;
  }
}

template <class Amount>
void MaxFlow<Amount>::set_arc(int arc, Amount capacity, Amount flow) {
  residual_[2 * arc] = capacity - flow;
  residual_[2 * arc + 1] = flow;
}

template <class Amount>
Amount MaxFlow<Amount>::solve(int source, int sink, Amount enough) {
  clear();
  return add_flow(source, sink, enough);
}

template <class Amount>
Amount MaxFlow<Amount>::add_flow(int source, int sink, Amount enough) {
  Amount flow = 0;
  while (flow < enough && find_levels(source, sink)) {
    cursor_ = first_;
    flow += push(source, sink, enough - flow);
  }
  return flow;
}

template <class Amount>
std::vector<bool> MaxFlow<Amount>::met_from(int start, int partner) const {
  std::vector<bool> met(first_.size(), false);
  std::vector<int> stack{start};
  met[start] = true;
  while (!stack.empty()) {
    const int vertex = stack.back();
    stack.pop_back();
    for (int half = first_[vertex]; half >= 0; half = halves_[half].next) {
      const int to = halves_[half].to;
      if (residual_[half ^ partner] <= 0 || met[to]) continue;
      met[to] = true;
      stack.push_back(to);
    }
  }
  return met;
}

template <class Amount>
std::vector<bool> MaxFlow<Amount>::reached_from(int source) const {
  return met_from(source, 0);
}

template <class Amount>
std::vector<bool> MaxFlow<Amount>::not_leading_to(int sink) const {
  std::vector<bool> apart = met_from(sink, 1);
  apart.flip();
  return apart;
}

template class MaxFlow<std::int64_t>;
template class MaxFlow<WideInteger>;

}  // namespace collbench
