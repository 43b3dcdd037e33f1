#include "algorithms/combinators.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>

#include "core/error.h"

namespace collbench {
namespace {

std::string shape_text(const Schedule& schedule) {
  return std::to_string(schedule.ranks()) + " ranks and " + std::to_string(schedule.chunks()) +
         " chunks";
}

void require_equal_shapes(const std::string& name, const std::vector<Schedule>& parts) {
  require(!parts.empty(), name + ": needs at least one schedule to combine");
  for (const Schedule& part : parts) {
    require(part.ranks() == parts[0].ranks() && part.chunks() == parts[0].chunks(),
            name + ": cannot combine " + shape_text(parts[0]) + " with " + shape_text(part));
  }
}

// Runs of stages that follow each other.
std::vector<int> joined_runs(const std::vector<Schedule>& stages, const std::vector<int>& first) {
  std::vector<int> runs;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    for (const int begin : stages[i].runs()) runs.push_back(first[i] + begin);
  }
  return runs;
}

// Rounds are alike where those of all parts are, and no part ends between them.
std::vector<int> common_runs(const std::vector<Schedule>& parts) {
  std::vector<int> runs{0};
  for (const Schedule& part : parts) {
    const std::vector<int> own = part.runs();
    runs.insert(runs.end(), own.begin(), own.end());
    runs.push_back(part.rounds());
  }
  std::sort(runs.begin(), runs.end());
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

std::vector<int> reversed_runs(const Schedule& schedule) {
  std::vector<int> runs;
  int end = schedule.rounds();
  const std::vector<int> own = schedule.runs();
  for (auto begin = own.rbegin(); begin != own.rend(); end = *begin++) {
    runs.push_back(schedule.rounds() - end);
  }
  return runs;
}

}  // namespace

Schedule sequence(std::string name, std::vector<Schedule> stages) {
  require_equal_shapes(name, stages);
  std::vector<int> first{0};  // first[i] is the first round of stage i
  for (const Schedule& stage : stages) first.push_back(first.back() + stage.rounds());
  const Shape shape{stages[0].ranks(), stages[0].chunks(), first.back()};
  const Partition partition = stages[0].partition();
  std::vector<int> runs = joined_runs(stages, first);
  const auto play = [stages = std::move(stages), first = std::move(first)](Rank r, int t,
                                                                           Round& out) {
    const auto after = std::upper_bound(first.begin(), first.end(), t);
    const auto i = static_cast<std::size_t>(after - first.begin() - 1);
    stages[i].round(r, t - first[i], out);
  };
  return {std::move(name), shape, play, partition, std::move(runs)};
}

Schedule concurrent(std::string name, std::vector<Schedule> parts) {
  require_equal_shapes(name, parts);
  Shape shape{parts[0].ranks(), parts[0].chunks(), 0};
  for (const Schedule& part : parts) shape.rounds = std::max(shape.rounds, part.rounds());
  const Partition partition = parts[0].partition();
  std::vector<int> runs = common_runs(parts);
  const auto play = [parts = std::move(parts)](Rank r, int t, Round& out) {
    // Every rank lists the parts in this order, so the k-th send between two ranks still meets the
    // k-th receive, although parts share rounds.
    Round round;
    for (const Schedule& part : parts) {
      if (t >= part.rounds()) continue;
      part.round(r, t, round);
      for (const Op& op : round.ops()) out.push(op);
    }
  };
  return {std::move(name), shape, play, partition, std::move(runs)};
}

Schedule tracks(std::string name, std::vector<Schedule> parts) {
  if (parts.size() == 1) return parts[0].named(std::move(name));
  const Schedule together = concurrent(std::move(name), parts);
  return together.with_tracks(std::move(parts));
}

Schedule embed(const Schedule& inner, int ranks, int chunks, Seating seating) {
  const auto play = [inner, seating = std::move(seating)](Rank r, int t, Round& out) {
    const std::optional<Seat> seat = seating(r);
    if (!seat) return;
    assert(seat->target.count % inner.chunks() == 0);
    const int size = seat->target.count / inner.chunks();
    Round round;
    inner.round(seat->rank, t, round);
    for (const Op& op : round.ops()) {
      out.push({op.kind,
                seat->base + seat->stride * op.peer,
                {seat->target.first + op.chunks.first * size, op.chunks.count * size}});
    }
  };
  return {inner.name(), {ranks, chunks, inner.rounds()}, play, {}, inner.runs()};
}

Schedule embed(const Schedule& inner, int ranks, int chunks, const std::vector<Rank>& members,
               Chunks target) {
  require(static_cast<int>(members.size()) == inner.ranks(),
          "embed: " + inner.name() + " has " + std::to_string(inner.ranks()) + " ranks, not " +
              std::to_string(members.size()));
  require(target.count % inner.chunks() == 0,
          "embed: " + std::to_string(target.count) + " chunks cannot hold " + shape_text(inner));
  std::vector<Rank> seat_of(static_cast<std::size_t>(ranks), -1);
  for (std::size_t i = 0; i < members.size(); ++i) {
    require(members[i] >= 0 && members[i] < ranks && seat_of[members[i]] < 0,
            "embed: rank " + std::to_string(members[i]) + " is outside or listed twice");
    seat_of[members[i]] = static_cast<Rank>(i);
  }
  const int size = target.count / inner.chunks();
  const auto play = [inner, members, seat_of, size, target](Rank r, int t, Round& out) {
    if (seat_of[r] < 0) return;
    Round round;
    inner.round(seat_of[r], t, round);
    for (const Op& op : round.ops()) {
      out.push({op.kind,
                members[op.peer],
                {target.first + op.chunks.first * size, op.chunks.count * size}});
    }
  };
  return {inner.name(), {ranks, chunks, inner.rounds()}, play, {}, inner.runs()};
}

Schedule side_by_side(const Schedule& inner, const Groups& groups) {
  struct Place {
    const std::vector<Rank>* group;
    Rank inside;
  };
  const auto kept = std::make_shared<const Groups>(groups);
  std::vector<Place> places(groups.size() * static_cast<std::size_t>(inner.ranks()), {nullptr, 0});
  for (const std::vector<Rank>& group : *kept) {
    require(static_cast<int>(group.size()) == inner.ranks(),
            "groups: " + inner.name() + " has " + std::to_string(inner.ranks()) + " ranks, not " +
                std::to_string(group.size()));
    for (std::size_t i = 0; i < group.size(); ++i) {
      const Rank rank = group[i];
      require(rank >= 0 && rank < std::ssize(places) && places[rank].group == nullptr,
              "groups: rank " + std::to_string(rank) + " is outside or listed twice");
      places[rank] = {&group, static_cast<Rank>(i)};
    }
  }
  const auto at = std::make_shared<const std::vector<Place>>(std::move(places));
  const auto in_groups = [kept, at](const Schedule& one) {
    const auto play = [one, kept, at](Rank r, int t, Round& out) {
      const Place& place = (*at)[r];
      Round round;
      one.round(place.inside, t, round);
      for (const Op& op : round.ops()) out.push({op.kind, (*place.group)[op.peer], op.chunks});
    };
    const Shape shape{static_cast<int>(at->size()), one.chunks(), one.rounds()};
    return Schedule(one.name(), shape, play, one.partition(), one.runs());
  };
  std::vector<Schedule> tracks;
  for (const Schedule& track : inner.tracks()) tracks.push_back(in_groups(track));
  const Schedule whole = in_groups(inner);
  return tracks.empty() ? whole : whole.with_tracks(std::move(tracks));
}

Schedule mirrored(const Schedule& schedule, OpKind receive) {
  const auto play = [schedule, receive](Rank r, int t, Round& out) {
    Round round;
    schedule.round(r, schedule.rounds() - 1 - t, round);
    for (const Op& op : round.ops()) {
      if (op.peer == r) continue;  // the mark of the own term in a fold
      out.push({op.kind == OpKind::send ? receive : OpKind::send, op.peer, op.chunks});
    }
  };
  return {schedule.name(),
          {schedule.ranks(), schedule.chunks(), schedule.rounds()},
          play,
          {},
          reversed_runs(schedule)};
}

Schedule split(const Schedule& schedule, int pieces) {
  require(pieces >= 1, schedule.name() + ": cannot cut messages into " + std::to_string(pieces) +
                           " pieces, at least 1 is needed");
  if (pieces == 1) return schedule;
  const auto play = [schedule, pieces](Rank r, int t, Round& out) {
    Round round;
    schedule.round(r, t, round);
    // Piece by piece, not operation by operation: the first pieces of all messages travel together,
    // and sends and receives keep matching.
    for (int piece = 0; piece < pieces; ++piece) {
      for (const Op& op : round.ops()) {
        // c chunks have c * pieces parts; every message takes c consecutive ones.
        out.push({op.kind,
                  op.peer,
                  {op.chunks.first * pieces + piece * op.chunks.count, op.chunks.count}});
      }
    }
  };
  const Shape shape{schedule.ranks(), schedule.chunks() * pieces, schedule.rounds()};
  return {schedule.name(), shape, play, {}, schedule.runs()};
}

Schedule folded(const Schedule& inner, int ranks) {
  const int p = inner.ranks();
  require(ranks >= p && ranks < 2 * p,
          "folded: " + std::to_string(p) + " ranks cannot stand for " + std::to_string(ranks));
  if (ranks == p) return inner;
  // Ranks p and above only give their vector to a partner and take the result back, so two rounds
  // carry a whole vector each: the price of any number of ranks.
  const Chunks all{0, inner.chunks()};
  const auto give = [p, ranks, all](Rank r, int, Round& out) {
    if (r >= p) {
      out.send(r - p, all);
    } else if (r + p < ranks) {
      out.recv_reduce(r + p, all);
    }
  };
  const Schedule before(inner.name(), {ranks, inner.chunks(), 1}, give);
  const auto seating = [p, all](Rank r) {
    return r < p ? std::optional<Seat>({r, 0, 1, all}) : std::nullopt;
  };
  return sequence(inner.name(),
                  {before, embed(inner, ranks, inner.chunks(), seating), mirrored(before)});
}

}  // namespace collbench
