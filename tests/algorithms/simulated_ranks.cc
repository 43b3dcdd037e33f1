#include "tests/algorithms/simulated_ranks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "core/random.h"

namespace collbench {

namespace {

using Values = std::vector<float>;

// The sum of `terms`, added one after another.
Values fold(const std::vector<Values>& terms) {
  Values sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += terms[i][k];
  }
  return sum;
}

}  // namespace

Vectors play(const Schedule& schedule, Vectors vectors) {
  const auto count = static_cast<std::int64_t>(vectors.at(0).size());
  const auto first = [&](int chunk) { return schedule.partition()(chunk, count, 4); };
  const auto values = [&](Rank r, Chunks chunks) {
    return Values(vectors[r].begin() + first(chunks.first),
                  vectors[r].begin() + first(chunks.first + chunks.count));
  };
  std::vector<Round> rounds(vectors.size());
  for (int t = 0; t < schedule.rounds(); ++t) {
    std::map<std::pair<Rank, Rank>, std::deque<Values>> mail;
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      schedule.round(r, t, rounds[r]);
      for (const Op& op : rounds[r].ops()) {
        if (op.kind == OpKind::send) mail[{r, op.peer}].push_back(values(r, op.chunks));
      }
    }
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      std::map<std::pair<int, int>, std::vector<Values>> folds;  // terms by first chunk and count
      std::map<std::pair<int, int>, bool> marked;
      for (const Op& op : rounds[r].ops()) {
        if (op.kind == OpKind::send) continue;
        const std::pair key{op.chunks.first, op.chunks.count};
        marked[key] = marked[key] || op.peer == r;
        folds[key].push_back(op.peer == r ? values(r, op.chunks) : mail.at({op.peer, r}).at(0));
        if (op.peer != r) mail.at({op.peer, r}).pop_front();
        if (op.kind == OpKind::recv) marked[key] = true;  // replaces the own term
      }
      for (auto& [key, terms] : folds) {
        if (!marked[key]) terms.insert(terms.begin(), values(r, {key.first, key.second}));
        const Values sum = fold(terms);
        std::copy(sum.begin(), sum.end(), vectors[r].begin() + first(key.first));
      }
    }
  }
  return vectors;
}

Vectors random_vectors(int ranks, int count, std::uint64_t seed) {
  RandomEngine engine = random_engine(seed, "inputs");
  std::lognormal_distribution<float> values(0, 4);
  Vectors vectors(ranks, std::vector<float>(count));
  for (std::vector<float>& vector : vectors) {
    for (float& value : vector) value = values(engine);
  }
  return vectors;
}

}  // namespace collbench
