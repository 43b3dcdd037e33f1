#include "heuristics/link_loads.h"

#include <algorithm>
#include <cmath>

namespace collbench {

void LinkLoads::share(std::span<StagedRound> rounds, int times) {
  if (!has_tracks() && rounds.size() == 1 && rounds[0].stages.empty()) {
    share_one(rounds[0], times);
    return;
  }
  tracks_in_step_ = tracks_in_step_ && rounds.size() == 1 && rounds[0].stages.empty();
  sent_.clear();
  for (StagedRound& round : rounds) {
    for (std::size_t k = 0; k < round.traffic.size(); ++k) {
      const int track = round.traffic[k].from / setting_.schedule.ranks();
      sent_.push_back({round.stages.empty() ? 0 : round.stages[k], track, k, &round});
    }
  }
  std::stable_sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) {
    return a.stage != b.stage ? a.stage < b.stage : a.track < b.track;
  });
  for (std::size_t begin = 0; begin < sent_.size();) {
    std::size_t end = begin;
    while (end < sent_.size() && sent_[end].stage == sent_[begin].stage) ++end;
    share_stage(std::span(sent_).subspan(begin, end - begin), times);
    begin = end;
  }
}

std::pair<LinkId, double> LinkLoads::busiest() const {
  std::pair<LinkId, double> most{-1, 0};
  for (std::size_t l = 0; l < busy_.size(); ++l) {
    if (busy_[l] > most.second) most = {static_cast<LinkId>(l), busy_[l]};
  }
  return most;
}

void LinkLoads::share_one(StagedRound& round, int times) {
  for (std::size_t k = 0; k < round.traffic.size(); ++k) load(round, k);
  take_loads(times);
  for (std::size_t k = 0; k < round.traffic.size(); ++k) set_busy(round, k);
  unload();
}

// Tracks begin in step, and stay so while all messages cost the same: all of what is sent at a
// stage is in the way of each. Then they drift apart, so that between nothing and all of what
// other tracks send gets in the way: half of it is taken.
void LinkLoads::share_stage(std::span<const Sent> sent, int times) {
  for (const Sent& each : sent) load(*each.round, each.message);
  take_loads(times);
  tracks_in_step_ = tracks_in_step_ && cost_the_same(sent);
  if (!has_tracks() || tracks_in_step_) {
    for (const Sent& each : sent) set_busy(*each.round, each.message);
    unload();
    return;
  }
  load_.swap(load_of_all_);
  loaded_.swap(loaded_by_all_);
  for (std::size_t begin = 0; begin < sent.size();) {
    std::size_t end = begin;
    for (; end < sent.size() && sent[end].track == sent[begin].track; ++end) {
      load(*sent[end].round, sent[end].message);
    }
    for (const LinkId link : loaded_) {
      const double own = load_[link] / setting_.machine.topology.capacity(link);
      load_[link] = (own + load_of_all_[link]) / 2;
    }
    for (; begin < end; ++begin) set_busy(*sent[begin].round, sent[begin].message);
    unload();
  }
  load_.swap(load_of_all_);
  loaded_.swap(loaded_by_all_);
  unload();
}

// But for elements that chunks do not share evenly.
bool LinkLoads::cost_the_same(std::span<const Sent> sent) const {
  const auto alike = [](double a, double b) { return std::abs(a - b) <= 0.05 * b; };
  const Sent& first = sent.front();
  const CostMessage& like = first.round->traffic[first.message];
  const double busy = most_load(*first.round, first.message);
  return std::ranges::all_of(sent, [&](const Sent& each) {
    const CostMessage& message = each.round->traffic[each.message];
    return message.level == like.level && message.latency == like.latency &&
           alike(message.bytes, like.bytes) && alike(message.reduction, like.reduction) &&
           alike(most_load(*each.round, each.message), busy);
  });
}

void LinkLoads::load(const StagedRound& round, std::size_t message) {
  const RouteTable::Route& route = round.routes[message];
  const std::span<const LinkId> links = round.table->links(route);
  for (std::size_t i = 0; i < links.size(); ++i) {
    double& load = load_[links[i]];
    if (load == 0) loaded_.push_back(links[i]);
    const double share = route.is_spread ? round.table->shares(route)[i] : 1;
    load += share * round.traffic[message].bytes;
  }
}

// Turns bytes of links into seconds.
void LinkLoads::take_loads(int times) {
  for (const LinkId link : loaded_) {
    load_[link] /= setting_.machine.topology.capacity(link);
    busy_[link] += times * load_[link];
  }
}

void LinkLoads::set_busy(StagedRound& round, std::size_t message) const {
  double& busy = round.traffic[message].busy;
  busy = std::max(busy, most_load(round, message));
}

// Of the links on its way.
double LinkLoads::most_load(const StagedRound& round, std::size_t message) const {
  double most = 0;
  for (const LinkId link : round.table->links(round.routes[message])) {
    most = std::max(most, load_[link]);
  }
  return most;
}

void LinkLoads::unload() {
  for (const LinkId link : loaded_) load_[link] = 0;
  loaded_.clear();
}

}  // namespace collbench
