#include "tests/algorithms/simulated_ranks.h"

#include <deque>
#include <map>
#include <random>
#include <stdexcept>

#include "core/random.h"

namespace collbench {

Vectors play(const Schedule& schedule, Vectors vectors) {
  const auto count = static_cast<std::int64_t>(vectors.at(0).size());
  const auto first = [&](int chunk) { return schedule.partition()(chunk, count, 4); };
  std::vector<Round> rounds(vectors.size());
  for (int t = 0; t < schedule.rounds(); ++t) {
    std::map<std::pair<Rank, Rank>, std::deque<std::vector<float>>> mail;
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      schedule.round(r, t, rounds[r]);
      for (const Op& op : rounds[r].ops()) {
        if (op.kind != OpKind::send) continue;
        const auto begin = vectors[r].begin() + first(op.chunks.first);
        const auto end = vectors[r].begin() + first(op.chunks.first + op.chunks.count);
        mail[{r, op.peer}].emplace_back(begin, end);
      }
    }
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      for (const Op& op : rounds[r].ops()) {
        if (op.kind == OpKind::send) continue;
        if (op.peer == r) throw std::logic_error("own-term marks are not played here");
        auto& box = mail.at({op.peer, r});
        float* own = vectors[r].data() + first(op.chunks.first);
        for (const float value : box.at(0)) {
          *own = op.kind == OpKind::recv ? value : *own + value;
          ++own;
        }
        box.pop_front();
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
