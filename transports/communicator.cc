#include "transports/communicator.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "core/error.h"
#include "transports/memory.h"

namespace collbench {

// Calls are timed: a message is made only when it is needed.
void Communicator::require_alike(Region in, Region out) {
  if (in.count == out.count && in.type == out.type) return;
  const auto words = [](Region region) {
    return std::to_string(region.count) + " " + std::string(to_string(region.type));
  };
  throw InvalidArgument("all_reduce: in has " + words(in) + " and out " + words(out) +
                        "; they must be alike");
}

void Communicator::require_root(Rank root) const {
  if (root >= 0 && root < ranks()) return;
  throw InvalidArgument("root " + std::to_string(root) + " is not one of " +
                        std::to_string(ranks()) + " ranks");
}

void Communicator::require_counts(const Collective& collective, std::int64_t count) const {
  if (collective.counts.empty()) return;
  const auto& counts = collective.counts;
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const bool possible = std::ranges::all_of(counts, [](std::int64_t each) { return each >= 0; });
  if (has_shares(collective.kind) && possible && std::ssize(counts) == ranks() && sum == count) {
    return;
  }
  throw InvalidArgument(std::string(to_string(collective.kind)) + " of " + std::to_string(count) +
                        " elements among " + std::to_string(ranks()) + " ranks has " +
                        std::to_string(counts.size()) + " counts, " + std::to_string(sum) +
                        " together; give one of at least 0 for each rank of a reduce-scatter or an "
                        "all-gather");
}

void Communicator::perform(const Collective& collective, Region in, Region out, ReduceOp op) {
  if (collective.kind == CollectiveKind::all_reduce) return all_reduce(in, out, op);
  const Whole whole = whole_of(collective, in, out);
  if (collective.kind != CollectiveKind::broadcast || whole.vector == nullptr) {
    throw Unavailable(description() + " has no " + std::string(to_string(collective.kind)) +
                      (whole.vector == nullptr ? " out of place" : " in place"));
  }
  broadcast(out, collective.root);
}

std::shared_ptr<std::byte> Communicator::allocate(Bytes size) { return allocate_pages(size); }

Communicator::Whole Communicator::whole_of(const Collective& collective, Region in,
                                           Region out) const {
  require_root(collective.root);
  // A rank may have nothing before or nothing after, but not neither.
  const bool is_in = collective.kind == CollectiveKind::reduce_scatter ||
                     collective.kind == CollectiveKind::reduce;
  const std::int64_t count = is_in ? in.count : out.count;
  require_counts(collective, count);
  const Elements before = elements_before(collective, rank(), ranks(), count);
  const Elements after = elements_after(collective, rank(), ranks(), count);
  if (in.count != before.count || out.count != after.count || in.type != out.type) {
    throw InvalidArgument(std::string(to_string(collective.kind)) + " of " + std::to_string(count) +
                          " elements: in must have " + std::to_string(before.count) + " and out " +
                          std::to_string(after.count) + " of one type, not " +
                          std::to_string(in.count) + " " + std::string(to_string(in.type)) +
                          " and " + std::to_string(out.count) + " " +
                          std::string(to_string(out.type)));
  }
  // The larger part is the vector itself.
  std::byte* const vector = is_in ? in.data : out.data;
  const std::byte* const place = vector + (is_in ? after : before).first * size_of(in.type);
  return {count, (is_in ? out : in).data == place ? vector : nullptr};
}

}  // namespace collbench
