#include "heuristics/structure/host_work.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <mutex>
#include <tuple>

#include "algorithms/fusion.h"
#include "algorithms/registry.h"
#include "algorithms/resolve.h"

namespace collbench {
namespace {

constexpr int float_bytes = 4;
constexpr std::size_t most_remembered = 4096;

bool overlap(Chunks a, Chunks b) {
  return a.first < b.first + b.count && b.first < a.first + a.count;
}

void add_rank(const ResolvedRound& round, double chunk, CoreWork& core) {
  for (const Op& op : round.sends()) {
    const double bytes = op.chunks.count * chunk;
    core.sends += 1;
    core.sent += bytes;
    const auto writes_over = [&](const Receipt& each) { return overlap(each.chunks, op.chunks); };
    if (std::ranges::any_of(round.receipts(), writes_over)) core.snapshot += bytes;
  }
  for (const Receipt& receipt : round.receipts()) {
    const double bytes = receipt.chunks.count * chunk;
    core.receipts += receipt.messages();
    if (receipt.folds) {
      core.reduced += bytes * receipt.additions();
    } else {
      core.stored += bytes;
    }
  }
}

HostRound read_round(const Schedule& schedule, int round, int cores) {
  HostRound read;
  std::vector<CoreWork> all(static_cast<std::size_t>(std::min(cores, schedule.ranks())));
  ResolvedRound resolved;
  for (Rank r = 0; r < schedule.ranks(); ++r) {
    resolve(schedule, r, round, resolved);
    if (resolved.sends().empty() && resolved.receipts().empty()) continue;
    read.active += 1;
    add_rank(resolved, 1.0 / schedule.chunks(), all[static_cast<std::size_t>(r % cores)]);
  }
  for (const CoreWork& core : all) {
    if (std::ranges::find(read.cores, core) == read.cores.end()) read.cores.push_back(core);
  }
  return read;
}

/// Every piece is read from all ranks and written to all, by its owner or by whichever is free.
double busiest_pass(const Fusion& fusion, int cores, double elements) {
  const int sharing = std::min(cores, fusion.ranks);
  // Each rank folds all vectors for itself.
  if (fusion.shown) return (fusion.ranks + 1.0) * fusion.ranks / sharing;
  if (fusion.even) return 2.0 * fusion.ranks / sharing;
  std::vector<double> owned(static_cast<std::size_t>(sharing), 0.0);
  for (const Fusion::Piece& piece : fusion.pieces) {
    owned[static_cast<std::size_t>(piece.owner % cores)] +=
        static_cast<double>(piece.count) / elements;
  }
  return 2.0 * fusion.ranks * *std::ranges::max_element(owned);
}

}  // namespace

HostWork host_work(const Schedule& schedule, int cores, Bytes bytes, bool fuses) {
  assert(schedule.ranks() >= 2 && cores >= 1);
  HostWork work;
  const std::int64_t elements = std::max<std::int64_t>(1, bytes.count / float_bytes);
  if (fuses) {
    if (const auto fusion = fuse(schedule, elements, float_bytes)) {
      work.meetings = fusion->shown ? 1 : 2;
      work.pass = busiest_pass(*fusion, cores, static_cast<double>(elements));
      return work;
    }
  }
  const std::vector<int> runs = schedule.runs();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int next = i + 1 < runs.size() ? runs[i + 1] : schedule.rounds();
    HostRound round = read_round(schedule, runs[i], cores);
    round.count = next - runs[i];
    double snapshots = 0;
    for (const CoreWork& core : round.cores) snapshots = std::max(snapshots, core.snapshot);
    work.footprint = std::max(work.footprint, 1 + snapshots * cores / schedule.ranks());
    work.rounds.push_back(std::move(round));
  }
  return work;
}

std::shared_ptr<const HostWork> known_host_work(const std::string& algorithm, int ranks, int cores,
                                                Bytes bytes, bool fuses) {
  // Beyond this size all vectors are played alike, but for the rounding of chunks.
  const Bytes like = std::min(bytes, Bytes{most_shown_bytes + float_bytes});
  using Key = std::tuple<std::string, int, int, Bytes, bool>;
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const HostWork>> remembered;
  const Key key{algorithm, ranks, cores, like, fuses};
  const std::lock_guard lock(mutex);
  if (const auto found = remembered.find(key); found != remembered.end()) return found->second;
  const Schedule schedule = make_schedule(algorithm, ranks, like);
  // Fractions of a vector that its chunks divide.
  const Bytes whole{like < bytes ? std::int64_t{schedule.chunks()} << 16 : like.count};
  auto work = std::make_shared<const HostWork>(host_work(schedule, cores, whole, fuses));
  if (remembered.size() >= most_remembered) remembered.clear();
  return remembered.emplace(key, std::move(work)).first->second;
}

}  // namespace collbench
