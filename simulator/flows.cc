#include "simulator/flows.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/stop_request.h"
#include "simulator/engines.h"
#include "simulator/event_queue.h"
#include "simulator/fair_share.h"
#include "simulator/pair_table.h"

namespace collbench {
namespace {

class FlowPlayer {
 public:
  FlowPlayer(Program& program, const FlowOptions& options)
      : program_(program),
        options_(options),
        positions_(static_cast<std::size_t>(program.positions())),
        links_(program.capacities(), queue_, program.positions(), options.link_use) {
    queue_.resize(positions_.size());
    report_.end.resize(positions_.size(), Seconds{0});
    if (options.round_end) {
      report_.round_end.resize(static_cast<std::size_t>(program.rounds()), Seconds{0});
    }
  }

  FlowReport play() {
    if (options_.watch != nullptr) options_.watch->begins(links_);
    for (std::int32_t p = 0; p < program_.positions(); ++p) {
      queue_.push(p, program_.start(p).count());
    }
    while (!queue_.empty() && !report_.stopped) {
      leave_if_stopped();
      now_ = queue_.next_time();
      const double end = EventQueue::moment_end(now_);
      // Rates are solved once per moment, after all its starts and ends: in symmetric schedules
      // thousands of flows change at the same time.
      while (!queue_.empty() && queue_.next_time() <= end) handle(queue_.pop());
      links_.settle(now_);
    }
    if (ended_ < positions_.size() && !report_.stopped) report_stuck();
    if (options_.link_use) report_.links = links_.link_use(now_);
    return std::move(report_);
  }

 private:
  struct Position {
    std::int32_t round = -1;  // not started
    std::int32_t awaited = 0;
    double reduction = 0;
  };
  struct Message {  // a flow from its sender's entering the round to its arrival
    double wire_bytes = 0;
    double cap = 0;
    double latency = 0;
    std::int32_t path = 0;
    std::int32_t to = 0;
    std::int32_t round = 0;
    std::int32_t next = -1;    // that waits for the same receiver, or free message
    std::int32_t behind = -1;  // the next one sent along its path that has not arrived
    bool latency_over = false;
    bool flows = false;
  };
  struct Lane {  // the messages along a path that have been sent and not arrived, in that order
    std::int32_t first = -1;
    std::int32_t last = -1;
  };
  struct Stamp {  // what only a trace needs
    Rank from = 0;
    double bytes = 0;
    double ready = 0;
    double start = 0;
  };
  struct Ahead {  // what a position finds on entering a later round
    std::int32_t arrived = 0;
    std::int32_t waiting = -1;  // first message that waits for the position to be there
  };

  Message& message(std::int32_t flow) { return messages_[static_cast<std::size_t>(flow)]; }
  std::int32_t new_message() {
    if (free_message_ < 0) more_messages();
    const std::int32_t flow = free_message_;
    free_message_ = message(flow).next;
    return flow;
  }

  void more_messages() {
    const std::size_t old = messages_.size();
    const std::size_t all = std::max<std::size_t>(256, 2 * old);
    // Eight links are a long route, and each costs 20 bytes; the old block lives until the new one
    // is filled.
    require_memory(all * (sizeof(Message) + 8 * 20 + 80), fmt::format("{} messages at once", all));
    messages_.resize(all);
    queue_.resize(positions_.size() + all);
    links_.resize(all);
    if (options_.trace_limit > 0) stamps_.resize(all);
    for (std::size_t i = all; i-- > old;) {
      messages_[i].next = free_message_;
      free_message_ = static_cast<std::int32_t>(i);
    }
  }

  // Leaves the round the position is in, and those after it that wait for nothing.
  void advance(std::int32_t position) {
    Position& here = positions_[static_cast<std::size_t>(position)];
    do {
      if (options_.round_end && here.round >= 0) {
        Seconds& last = report_.round_end[static_cast<std::size_t>(here.round)];
        last = std::max(last, Seconds{now_});
      }
      ++here.round;
      if (options_.watch != nullptr &&
          !options_.watch->enters(position, here.round, Seconds{now_})) {
        report_.stopped = true;
      }
      if (here.round == program_.rounds()) {
        report_.end[static_cast<std::size_t>(position)] = Seconds{now_};
        ++ended_;
        return;
      }
      take_turn(position);
    } while (here.awaited == 0 && here.reduction == 0);
    if (here.awaited == 0) queue_.push(position, now_ + here.reduction);
  }

  void take_turn(std::int32_t position) {
    Position& here = positions_[static_cast<std::size_t>(position)];
    program_.turn(position, here.round, turn_);
    here.awaited = turn_.arrivals;
    here.reduction = turn_.reduction.count();
    if (!turn_.sends.empty()) {
      links_.learn(program_.paths());
      lanes_.resize(program_.paths().size());
    }
    for (const Flow& flow : turn_.sends) send(position, here.round, flow);
    // Senders may have been ahead of this position: their messages of this round have already
    // arrived (eager) or wait for it to enter the round (rendezvous).
    const Ahead* found = ahead_.find(position, here.round);
    if (found == nullptr) return;
    const Ahead early = *found;
    ahead_.erase(position, here.round);
    here.awaited -= early.arrived;
    if (here.awaited < 0) {
      throw UnmatchedFlows(fmt::format("position {} gets {} messages in round {} and expects {}",
                                       position, early.arrived, here.round, turn_.arrivals));
    }
    for (std::int32_t flow = early.waiting; flow >= 0;) {
      const std::int32_t next = message(flow).next;
      make_ready(flow);
      flow = next;
    }
  }

  void send(std::int32_t from, std::int32_t round, const Flow& flow) {
    const std::int32_t id = new_message();
    message(id) = {.wire_bytes = flow.wire_bytes,
                   .cap = flow.cap,
                   .latency = flow.latency.count(),
                   .path = flow.path,
                   .to = flow.to,
                   .round = round};
    if (!stamps_.empty())
      stamps_[static_cast<std::size_t>(id)] = {.from = from, .bytes = flow.bytes};
    Lane& lane = lanes_[static_cast<std::size_t>(flow.path)];
    (lane.last < 0 ? lane.first : message(lane.last).behind) = id;
    lane.last = id;
    // A position in a later round no longer expects it; arrive() reports that.
    if (options_.posting == Posting::rendezvous &&
        positions_[static_cast<std::size_t>(flow.to)].round < round) {
      Ahead& ahead = ahead_(flow.to, round);
      message(id).next = ahead.waiting;
      ahead.waiting = id;
      return;
    }
    make_ready(id);
  }

  void make_ready(std::int32_t flow) {
    if (!stamps_.empty()) stamps_[static_cast<std::size_t>(flow)].ready = now_;
    queue_.push(static_cast<std::int32_t>(positions_.size()) + flow, now_ + message(flow).latency);
  }

  // Starts what may flow: of the messages along a path, those of the earliest round. Latencies of a
  // path's messages overlap, but the bytes of a round wait until those of earlier rounds have
  // arrived.
  void start_head(Lane& lane) {
    if (lane.first < 0) return;
    const std::int32_t round = message(lane.first).round;
    for (std::int32_t flow = lane.first; flow >= 0 && message(flow).round == round;
         flow = message(flow).behind) {
      Message& waiting = message(flow);
      if (waiting.flows || !waiting.latency_over) continue;
      waiting.flows = true;
      if (!stamps_.empty()) stamps_[static_cast<std::size_t>(flow)].start = now_;
      links_.start(flow, waiting.path, waiting.wire_bytes, waiting.cap, now_);
    }
  }

  // Removes an arrived message, which may let the next round's messages on its path flow. The
  // search is short: only messages of the lane's earliest round flow, so the arrived one is near
  // its front.
  void leave_lane(std::int32_t flow) {
    Lane& lane = lanes_[static_cast<std::size_t>(message(flow).path)];
    std::int32_t before = -1;
    for (std::int32_t at = lane.first; at != flow; at = message(at).behind) before = at;
    const std::int32_t behind = message(flow).behind;
    (before < 0 ? lane.first : message(before).behind) = behind;
    if (behind < 0) lane.last = before;
    start_head(lane);
  }

  void handle(std::int32_t event) {
    const auto positions = static_cast<std::int32_t>(positions_.size());
    if (event < positions) return advance(event);
    const std::int32_t flow = event - positions;
    Message& moved = message(flow);
    if (moved.flows) {
      if (!links_.is_over(flow)) return;
      links_.end(flow, now_);
      arrive(flow);
      return;
    }
    moved.latency_over = true;
    start_head(lanes_[static_cast<std::size_t>(moved.path)]);
  }

  void arrive(std::int32_t flow) {
    const std::int32_t to = message(flow).to;
    const std::int32_t round = message(flow).round;
    if (!stamps_.empty()) keep_transfer(flow);
    leave_lane(flow);
    message(flow).next = free_message_;
    free_message_ = flow;
    ++report_.flows;
    Position& receiver = positions_[static_cast<std::size_t>(to)];
    if (round > receiver.round) {
      ++ahead_(to, round).arrived;
      return;
    }
    if (round < receiver.round || receiver.awaited == 0) {
      throw UnmatchedFlows(
          fmt::format("position {} gets a message of round {} that it does not expect", to, round));
    }
    if (--receiver.awaited > 0) return;
    if (receiver.reduction > 0) {
      queue_.push(to, now_ + receiver.reduction);
    } else {
      advance(to);
    }
  }

  void keep_transfer(std::int32_t flow) {
    if (static_cast<std::int64_t>(report_.transfers.size()) == options_.trace_limit) return;
    const Stamp& stamp = stamps_[static_cast<std::size_t>(flow)];
    report_.transfers.push_back({.from = stamp.from,
                                 .to = message(flow).to,
                                 .round = message(flow).round,
                                 .bytes = stamp.bytes,
                                 .ready = Seconds{stamp.ready},
                                 .start = Seconds{stamp.start},
                                 .arrival = Seconds{now_}});
  }

  [[noreturn]] void report_stuck() const {
    const auto waits = [](const Position& p) { return p.awaited > 0; };
    const auto first = std::find_if(positions_.begin(), positions_.end(), waits);
    throw UnmatchedFlows(fmt::format(
        "position {} waits in round {} for {} messages that no rank sends; {} of {} do not end",
        first - positions_.begin(), first->round, first->awaited, positions_.size() - ended_,
        positions_.size()));
  }

  Program& program_;
  const FlowOptions& options_;
  std::vector<Position> positions_;
  EventQueue queue_;  // ids: positions, then messages
  FairShare links_;
  std::vector<Message> messages_;
  std::vector<Stamp> stamps_;  // by message, while transfers are kept
  std::int32_t free_message_ = -1;
  std::vector<Lane> lanes_;  // by path
  PairTable<Ahead> ahead_;   // by position and round
  Turn turn_;
  std::size_t ended_ = 0;
  double now_ = 0;
  FlowReport report_;
};

}  // namespace

FlowReport play(Program& program, const FlowOptions& options) {
  return FlowPlayer(program, options).play();
}

}  // namespace collbench
