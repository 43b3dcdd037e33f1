#include "heuristics/structure/message_rounds.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "topologies/networks/networks.h"

namespace collbench {
namespace {

// Trees over long vectors are pipelined in segments; Open MPI 4.1, coll_tuned_decision_fixed.c.
constexpr double pipelined_from = 512 << 10;
constexpr double pipeline_segment = 64 << 10;

constexpr int most_read = 16;  // ranks from the first on, and as many from all over
constexpr std::size_t most_schedules = 4096;

/// Gives the value of a key, made once.
template <typename Key, typename Value, typename Make>
std::shared_ptr<const Value> remembered(const Key& key, Make make) {
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const Value>> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  if (known.size() >= most_schedules) known.clear();
  return known.emplace(key, std::make_shared<const Value>(make())).first->second;
}

std::vector<Rank> ranks_to_read(int ranks) {
  std::vector<Rank> chosen;
  for (Rank r = 0; r < std::min(ranks, most_read); ++r) chosen.push_back(r);
  for (int i = 1; i <= most_read; ++i) {
    const auto at = static_cast<Rank>(static_cast<std::int64_t>(ranks - 1) * i / most_read);
    if (at > chosen.back()) chosen.push_back(at);
  }
  return chosen;
}

int distance_between(Rank a, Rank b, int ranks) {
  const int way = std::abs(a - b);
  return std::min(way, ranks - way);
}

/// What one rank does in a round, in shares of the vector: messages to or from different peers come
/// one after the other.
struct RankRound {
  double peers = 0;
  double sent = 0;  // to each
  double reduced = 0;
  Rank partner = -1;
};

/// Ascending, each once.
void keep_distinct(std::vector<Rank>& ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
}

RankRound read_rank(const ResolvedRound& round, Rank rank, double chunk) {
  RankRound read;
  std::vector<Rank> targets;
  std::vector<Rank> origins;
  for (const Op& send : round.sends()) {
    read.sent += chunk * send.chunks.count;
    targets.push_back(send.peer);
  }
  for (const Receipt& receipt : round.receipts()) {
    read.reduced += chunk * receipt.chunks.count * receipt.additions();
    for (const Rank source : round.sources(receipt)) {
      if (source != rank) origins.push_back(source);
    }
  }
  keep_distinct(targets);
  keep_distinct(origins);
  if (!targets.empty()) {
    read.sent /= static_cast<double>(targets.size());
    read.partner = targets.front();
  }
  if (!origins.empty()) read.reduced /= static_cast<double>(origins.size());
  read.peers = static_cast<double>(std::max(targets.size(), origins.size()));
  return read;
}

/// In shares of the vector.
std::vector<MessageRound> read_rounds(const Schedule& schedule) {
  std::vector<MessageRound> rounds;
  const std::vector<int> runs = schedule.runs();
  const std::vector<Rank> chosen = ranks_to_read(schedule.ranks());
  ResolvedRound resolved;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const int next = i + 1 < runs.size() ? runs[i + 1] : schedule.rounds();
    MessageRound round{.count = 0};
    bool has_partner = false;
    for (const Rank r : chosen) {
      resolve(schedule, r, runs[i], resolved);
      const RankRound mine = read_rank(resolved, r, 1.0 / schedule.chunks());
      round.count = std::max(round.count, (next - runs[i]) * mine.peers);
      round.bytes = std::max(round.bytes, mine.sent);
      round.reduced = std::max(round.reduced, mine.reduced);
      if (has_partner || mine.partner < 0) continue;
      has_partner = true;
      round.distance = distance_between(r, mine.partner, schedule.ranks());
    }
    rounds.push_back(round);
  }
  return rounds;
}

/// Segments wait for each other while halves are reduced; what is only copied is never cut, nor are
/// whole vectors of ranks that fold.
void cut(const PlayedMethod& played, int ranks, double bytes, MessageRound& round) {
  if (round.bytes >= bytes) return;
  if (played.form == PlayedForm::blocks) {
    round.segments = std::max(1.0, round.bytes / bytes * ranks);
    round.posted = true;
  } else if (round.reduced > 0 && (played.segment > 0 || played.segment_is_a_chunk)) {
    const double segment = played.segment_is_a_chunk ? bytes / ranks : played.segment;
    round.segments = std::max(1.0, std::ceil(round.bytes / segment));
  }
}

std::vector<MessageRound> pipelined_tree(int ranks, double bytes) {
  const double fill = std::ceil(std::log2(ranks) - 1e-9) - 1;
  const double segments = std::ceil(bytes / pipeline_segment);
  return {{.count = fill, .bytes = pipeline_segment, .reduced = pipeline_segment},
          {.bytes = bytes, .reduced = bytes, .segments = segments, .posted = true},
          {.count = fill, .bytes = pipeline_segment},
          {.bytes = bytes, .segments = segments, .posted = true}};
}

/// The axis on which a rank's partner is, with both coordinates. rank = i0 + d0 * (i1 + d1 * ...).
struct OnAxis {
  std::size_t axis = 0;
  int from = 0;
  int to = 0;
};

OnAxis on_axis(Rank rank, Rank peer, const std::vector<int>& axes) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const OnAxis here{a, rank % axes[a], peer % axes[a]};
    if (here.from != here.to) return here;
    rank /= axes[a];
    peer /= axes[a];
  }
  assert(false && "a rank is no partner of its own");
  return {};
}

Topology single_axis(int length) {
  const LinkClass link{.name = "link", .nominal = Bandwidth{1}, .latency = {}, .source = {}};
  return torus({length}, {length > 2}, {link}, Ties::alternate);
}

/// What the busiest link of an axis carries.
double busiest_link(int length, const std::vector<std::pair<int, int>>& messages) {
  const auto known = remembered<int, Topology>(length, [&] { return single_axis(length); });
  const Topology& axis = *known;
  std::vector<int> load(axis.links().size(), 0);
  std::vector<LinkId> route;
  for (const auto& [from, to] : messages) {
    axis.route(from, to, route);
    for (const LinkId each : route) ++load[static_cast<std::size_t>(each)];
  }
  return *std::ranges::max_element(load);
}

/// Of a schedule over these axes, which starts on the first.
AxisTrack read_track(const Schedule& schedule, const std::vector<int>& axes) {
  const bool alone = schedule.tracks().empty();
  const Schedule& track = alone ? schedule : schedule.tracks().front();
  const double part = alone ? 1 : 1.0 / static_cast<double>(schedule.tracks().size());
  AxisTrack rounds;
  const std::vector<int> runs = track.runs();
  ResolvedRound resolved;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    resolve(track, 0, runs[i], resolved);
    if (resolved.sends().empty()) continue;
    const int next = i + 1 < runs.size() ? runs[i + 1] : track.rounds();
    AxisRound round{.count = static_cast<double>(next - runs[i])};
    for (const Op& send : resolved.sends()) {
      round.share += send.chunks.count / (part * track.chunks());
    }
    const OnAxis first = on_axis(0, resolved.sends().front().peer, axes);
    const int length = axes[first.axis];
    round.axis = first.axis;
    round.distance = std::min(first.to, length - first.to);
    int stride = 1;
    for (std::size_t a = 0; a < first.axis; ++a) stride *= axes[a];
    std::vector<std::pair<int, int>> messages;
    for (int c = 0; c < length; ++c) {
      resolve(track, c * stride, runs[i], resolved);
      std::vector<Rank> peers;
      for (const Op& send : resolved.sends()) peers.push_back(send.peer);
      keep_distinct(peers);
      for (const Rank peer : peers) messages.emplace_back(c, on_axis(c * stride, peer, axes).to);
    }
    round.load = busiest_link(length, messages);
    rounds.push_back(round);
  }
  return rounds;
}

std::vector<AxisTrack> read_tracks(const PlayedMethod& played, std::vector<int> axes) {
  int ranks = 1;
  for (int& length : axes) {
    if (played.form != PlayedForm::port_ring) {
      length = static_cast<int>(std::bit_ceil(static_cast<unsigned>(length)));
    }
    ranks *= length;
  }
  std::vector<AxisTrack> tracks;
  for (std::size_t first = 0; first < axes.size(); ++first) {
    const std::string name = fmt::format("{}:dims={}", registry_row(played), fmt::join(axes, "x"));
    tracks.push_back(read_track(make_schedule(name, ranks), axes));
    for (AxisRound& round : tracks.back()) round.axis = (round.axis + first) % axes.size();
    std::rotate(axes.begin(), axes.begin() + 1, axes.end());
  }
  return tracks;
}

}  // namespace

std::vector<MessageRound> message_rounds(const PlayedMethod& played, int ranks, double bytes) {
  assert(ranks >= 2);
  if (played.form == PlayedForm::tree && bytes >= pipelined_from) {
    return pipelined_tree(ranks, bytes);
  }
  const std::string_view row = registry_row(played);
  assert(!row.empty());
  std::vector<MessageRound> rounds =
      *remembered<std::pair<std::string_view, int>, std::vector<MessageRound>>(
          {row, ranks}, [&] { return read_rounds(make_schedule(std::string(row), ranks)); });
  for (MessageRound& round : rounds) {
    round.bytes *= bytes;
    round.reduced *= bytes;
    cut(played, ranks, bytes, round);
  }
  return rounds;
}

std::shared_ptr<const std::vector<AxisTrack>> axis_tracks(const PlayedMethod& played,
                                                          const std::vector<int>& axes) {
  return remembered<std::pair<std::string_view, std::vector<int>>, std::vector<AxisTrack>>(
      {registry_row(played), axes}, [&] { return read_tracks(played, axes); });
}

}  // namespace collbench
