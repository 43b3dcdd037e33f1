#include "tests/algorithms/simulated_ranks.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

#include "algorithms/resolve.h"
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
  std::vector<ResolvedRound> rounds(vectors.size());
  for (int t = 0; t < schedule.rounds(); ++t) {
    std::map<std::pair<Rank, Rank>, std::deque<Values>> mail;
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      resolve(schedule, r, t, rounds[r]);
      for (const Op& op : rounds[r].sends()) mail[{r, op.peer}].push_back(values(r, op.chunks));
    }
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      for (const Receipt& receipt : rounds[r].receipts()) {
        std::vector<Values> terms;
        for (const Rank source : rounds[r].sources(receipt)) {
          terms.push_back(source == r ? values(r, receipt.chunks) : mail.at({source, r}).at(0));
          if (source != r) mail.at({source, r}).pop_front();
        }
        const Values sum = fold(terms);
        std::copy(sum.begin(), sum.end(), vectors[r].begin() + first(receipt.chunks.first));
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
