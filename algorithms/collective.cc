#include "algorithms/collective.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <numeric>
#include <utility>

#include "core/error.h"
#include "core/parse.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 5> names_of_collectives{"all-reduce", "reduce-scatter",
                                                               "all-gather", "broadcast", "reduce"};

constexpr std::int64_t most_counted = std::int64_t{1} << 40;

// Of a vector whose chunks are its shares.
Elements elements_of(const Collective& collective, Chunks shares, int ranks, std::int64_t count) {
  const std::int64_t first = share_start(collective, shares.first, ranks, count);
  return {first, share_start(collective, shares.first + shares.count, ranks, count) - first};
}

std::vector<std::int64_t> parse_counts(const std::string& text) {
  std::vector<std::int64_t> counts;
  std::int64_t sum = 0;
  for (const std::string& part : split_at(text, ',')) {
    const std::string word(trimmed(part));
    require(!word.ends_with("B") && !word.ends_with("b"),
            "counts: '" + word + "' is a size; counts are of elements, as in 1M,2M,0,4K");
    counts.push_back(parse_size_option("counts", word).count);
    require(counts.back() <= most_counted - sum,
            "counts: those of " + text + " are more than 2^40 elements together");
    sum += counts.back();
  }
  return counts;
}

}  // namespace

std::span<const std::string_view> collective_names() { return names_of_collectives; }

std::string_view to_string(CollectiveKind kind) {
  return names_of_collectives[static_cast<std::size_t>(kind)];
}

CollectiveKind parse_collective(std::string_view name) {
  return static_cast<CollectiveKind>(require_known(
      "collective", name, {names_of_collectives.begin(), names_of_collectives.end()}));
}

bool has_root(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce;
}

bool has_shares(CollectiveKind kind) {
  return kind == CollectiveKind::reduce_scatter || kind == CollectiveKind::all_gather;
}

bool adds(CollectiveKind kind) {
  return kind != CollectiveKind::all_gather && kind != CollectiveKind::broadcast;
}

Chunks held_before(const Collective& collective, Rank rank, int ranks, int chunks) {
  if (collective.kind == CollectiveKind::all_gather) {
    return {chunks / ranks * rank, chunks / ranks};
  }
  const bool only_root = collective.kind == CollectiveKind::broadcast;
  return {0, only_root && rank != collective.root ? 0 : chunks};
}

Chunks held_after(const Collective& collective, Rank rank, int ranks, int chunks) {
  if (collective.kind == CollectiveKind::reduce_scatter) {
    return {chunks / ranks * rank, chunks / ranks};
  }
  const bool only_root = collective.kind == CollectiveKind::reduce;
  return {0, only_root && rank != collective.root ? 0 : chunks};
}

Rank source_of(const Collective& collective, int chunk, int ranks, int chunks) {
  assert(!adds(collective.kind));
  return collective.kind == CollectiveKind::broadcast ? collective.root : chunk / (chunks / ranks);
}

std::int64_t share_start(Rank rank, int ranks, std::int64_t count) {
  // Equal to count * rank / ranks, without overflow.
  return count / ranks * rank + count % ranks * rank / ranks;
}

std::int64_t share_start(const Collective& collective, Rank rank, int ranks, std::int64_t count) {
  if (collective.counts.empty()) return share_start(rank, ranks, count);
  assert(std::ssize(collective.counts) == ranks);
  const auto begin = collective.counts.begin();
  return std::accumulate(begin, begin + rank, std::int64_t{0});
}

Elements elements_before(const Collective& collective, Rank rank, int ranks, std::int64_t count) {
  return elements_of(collective, held_before(collective, rank, ranks, ranks), ranks, count);
}

Elements elements_after(const Collective& collective, Rank rank, int ranks, std::int64_t count) {
  return elements_of(collective, held_after(collective, rank, ranks, ranks), ranks, count);
}

Partition share_partition(int ranks, int pieces) {
  const auto inside = near_equal_partition(pieces);
  return [ranks, pieces, inside](int chunk, std::int64_t count, int element_bytes) {
    const Rank rank = chunk / pieces;
    const std::int64_t first = share_start(rank, ranks, count);
    if (chunk % pieces == 0) return first;
    return first +
           inside(chunk % pieces, share_start(rank + 1, ranks, count) - first, element_bytes);
  };
}

Collective with_counts(Collective collective, const std::string& text, int ranks) {
  if (text.empty()) return collective;
  require(has_shares(collective.kind),
          "counts: they are the shares of a reduce-scatter or an "
          "all-gather; " +
              std::string(to_string(collective.kind)) + " has none");
  collective.counts = parse_counts(text);
  require(std::ssize(collective.counts) == ranks,
          "counts: " + text + " has " + std::to_string(collective.counts.size()) +
              " numbers, and shares are for " + std::to_string(ranks) + " ranks");
  return collective;
}

std::int64_t sum_of_counts(const std::string& text) {
  const std::vector<std::int64_t> counts = parse_counts(text);
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

Schedule cut_into_counts(const Schedule& schedule, const Collective& collective) {
  if (collective.counts.empty()) return schedule;
  const int n = schedule.ranks();
  require(std::ssize(collective.counts) == n, "counts: there are " +
                                                  std::to_string(collective.counts.size()) +
                                                  ", and " + std::to_string(n) + " ranks");
  for (const std::int64_t count : collective.counts) {
    require(count >= 0, "counts: a share cannot have " + std::to_string(count) + " elements");
  }
  auto starts = std::make_shared<std::vector<std::int64_t>>(collective.counts.size() + 1, 0);
  std::partial_sum(collective.counts.begin(), collective.counts.end(), starts->begin() + 1);
  const auto cut = [n, pieces = schedule.chunks() / n, equal = schedule.partition(),
                    starts = std::shared_ptr<const std::vector<std::int64_t>>(std::move(starts))](
                       int chunk, std::int64_t, int element_bytes) {
    const Rank rank = chunk / pieces;
    const std::int64_t first = (*starts)[rank];
    if (chunk % pieces == 0) return first;
    // In a vector whose equal shares are as large as this one.
    const std::int64_t as_equal = ((*starts)[rank + 1] - first) * n;
    return first + equal(chunk, as_equal, element_bytes) -
           equal(rank * pieces, as_equal, element_bytes);
  };
  return schedule.with_partition(cut);
}

namespace {

constexpr std::int64_t most_grouped = 65'536;  // ranks

// "2x4" of 8 ranks.
Groups consecutive_groups(const std::string& text, std::size_t x, int ranks) {
  const auto count = parse_count("groups", text.substr(0, x), 1, most_grouped);
  const auto size = parse_count("groups", text.substr(x + 1), 1, most_grouped);
  require(count * size == ranks, "groups: " + text + " has " + std::to_string(count * size) +
                                     " ranks, and there are " + std::to_string(ranks));
  Groups groups(static_cast<std::size_t>(count));
  for (Rank r = 0; r < ranks; ++r) groups[r / size].push_back(r);
  return groups;
}

}  // namespace

Groups parse_groups(const std::string& text, int ranks) {
  if (text.empty()) return {};
  if (const std::size_t x = text.find('x'); x != text.npos) {
    return consecutive_groups(text, x, ranks);
  }
  Groups groups;
  std::vector<bool> seen(static_cast<std::size_t>(ranks), false);
  for (const std::string& part : split_at(text, ';')) {
    std::vector<Rank>& group = groups.emplace_back();
    for (const int rank : parse_ranges("groups: a rank", part, ranks - 1)) {
      require(!seen[rank], "groups: rank " + std::to_string(rank) + " is in two of " + text);
      seen[rank] = true;
      group.push_back(rank);
    }
    require(group.size() == groups.front().size(),
            "groups: those of " + text + " are not equally large");
  }
  const auto lonely = std::find(seen.begin(), seen.end(), false);
  require(lonely == seen.end(),
          "groups: rank " + std::to_string(lonely - seen.begin()) + " is in none of " + text);
  return groups;
}

int ranks_of_groups(const std::string& text) {
  std::int64_t ranks = 0;
  if (const std::size_t x = text.find('x'); x != text.npos) {
    ranks = parse_count("groups", text.substr(0, x), 1, most_grouped) *
            parse_count("groups", text.substr(x + 1), 1, most_grouped);
  } else {
    for (const std::string& part : split_at(text, ';')) {
      for (const int rank : parse_ranges("groups: a rank", part, most_grouped - 1)) {
        ranks = std::max<std::int64_t>(ranks, rank + 1);
      }
    }
  }
  require(ranks <= most_grouped, "groups: " + text + " has " + std::to_string(ranks) + " ranks");
  return static_cast<int>(ranks);
}

int group_size(const Groups& groups, int ranks) {
  return groups.empty() ? ranks : static_cast<int>(groups.front().size());
}

double bus_factor(CollectiveKind kind, int ranks) {
  if (has_root(kind)) return 1;
  const double n = ranks;
  return (kind == CollectiveKind::all_reduce ? 2 : 1) * (n - 1) / n;
}

}  // namespace collbench
