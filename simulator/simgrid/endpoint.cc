#include "simulator/simgrid/endpoint.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/kernels/kernels.h"

namespace collbench {

namespace {

constexpr Endpoint::Ticket sent_ticket = 0;  // nothing to wait for

}  // namespace

SimulatedEndpoint::SimulatedEndpoint(SimgridWorld& world, const Schedule& schedule, int position,
                                     double element_bytes)
    : world_(world),
      schedule_(schedule),
      rank_(position % schedule.ranks()),
      track_begin_(position - rank_),
      element_bytes_(element_bytes),
      round_(-1) {}

// Counts an operation, entering the round it belongs to.
void SimulatedEndpoint::operation() {
  if (left_ == 0) {
    pay();
    const int last_round = std::max(round_, 0);
    while (left_ == 0) enter(round_ + 1);
    world_.leave(last_round, round_);
  }
  --left_;
}

void SimulatedEndpoint::enter(int round) {
  if (round >= schedule_.rounds()) {
    throw Error(
        fmt::format("{}: rank {} has more operations than its schedule", schedule_.name(), rank_));
  }
  round_ = round;
  world_.program().turn(track_begin_ + rank_, round, turn_);
  sends_ = 0;
  left_ = turn_.sends.size() + static_cast<std::size_t>(turn_.arrivals);
  debt_ += turn_.reduction.count();
  if (turn_.arrivals == 0) return;
  resolve(schedule_, rank_, round, row_);
  const Scenario& scenario = world_.scenario();
  const auto place = [&](int chunk) {
    return schedule_.partition()(chunk, scenario.count, size_of(scenario.type));
  };
  for (const Receipt& receipt : row_.receipts()) {
    const Chunks chunks = receipt.chunks;
    const bool empty =
        scenario.count == 0 ||
        (!scenario.equal_chunks && place(chunks.first) == place(chunks.first + chunks.count));
    if (empty) continue;
    for (const Rank source : row_.sources(receipt)) {
      if (source == rank_) continue;
      expected_[source].push_back(world_.expect(track_begin_ + source, track_begin_ + rank_));
    }
  }
}

void SimulatedEndpoint::pay() {
  if (debt_ > 0) world_.kernel().sleep_until(world_.kernel().now() + debt_);
  debt_ = 0;
}

double SimulatedEndpoint::finish() {
  pay();
  const int last_round = std::max(round_, 0);
  while (left_ == 0 && round_ + 1 < schedule_.rounds()) enter(round_ + 1);
  if (left_ != 0) {
    throw Error(fmt::format("{}: rank {} ended in round {}, before its schedule did",
                            schedule_.name(), rank_, round_));
  }
  world_.leave(last_round, schedule_.rounds());
  const double end = world_.kernel().now();
  world_.kernel().meet();
  forget_arrived_sends();
  assert(sent_.empty());
  return end;
}

Endpoint::Ticket SimulatedEndpoint::send(Rank to, Region from) {
  operation();
  forget_arrived_sends();
  if (sends_ >= turn_.sends.size() || turn_.sends[sends_].to != track_begin_ + to) {
    throw Error(fmt::format("{}: rank {} sends to rank {} in round {}, unlike its schedule",
                            schedule_.name(), rank_, to, round_));
  }
  const Flow& flow = turn_.sends[sends_++];
  assert(std::abs(static_cast<double>(from.count) * element_bytes_ - flow.bytes) <=
         1e-9 * flow.bytes);
  std::vector<std::byte> content;
  if (from.data != nullptr) content.assign(from.data, from.data + from.size().count);
  sent_.push_back(world_.send(track_begin_ + rank_, round_, flow, std::move(content)));
  return sent_ticket;
}

// SimGrid keeps the message of a put until its actor has waited for it.
void SimulatedEndpoint::forget_arrived_sends() {
  while (!sent_.empty() && sent_.front()->arrival >= 0) {
    world_.kernel().wait(sent_.front()->put);
    sent_.pop_front();
  }
}

SimgridMessagePtr SimulatedEndpoint::next_from(Rank from) {
  operation();
  auto& queue = expected_[from];
  if (queue.empty()) {
    throw Error(fmt::format("{}: rank {} receives from rank {} in round {}, unlike its schedule",
                            schedule_.name(), rank_, from, round_));
  }
  SimgridMessagePtr message = std::move(queue.front());
  queue.pop_front();
  return message;
}

Endpoint::Ticket SimulatedEndpoint::post(Receive receive) {
  receives_.emplace(++last_ticket_, std::move(receive));
  return last_ticket_;
}

Endpoint::Ticket SimulatedEndpoint::recv(Rank from, Region into) {
  return post({{}, {next_from(from)}, {}, into, {}});
}

Endpoint::Ticket SimulatedEndpoint::recv_reduce(std::span<const Rank> sources, Region own,
                                                Region into, Reduction reduction) {
  Receive receive{sources, {}, own, into, reduction};
  for (const Rank source : sources) {
    if (source != rank_) receive.messages.push_back(next_from(source));
  }
  return post(std::move(receive));
}

void SimulatedEndpoint::wait(Ticket ticket) {
  if (ticket == sent_ticket) return;
  const auto found = receives_.find(ticket);
  assert(found != receives_.end());
  const Receive receive = std::move(found->second);
  receives_.erase(found);
  for (const SimgridMessagePtr& message : receive.messages) world_.wait(*message);
  if (receive.into.data != nullptr) store(receive);
}

void SimulatedEndpoint::store(const Receive& receive) const {
  if (receive.sources.empty()) {
    const std::vector<std::byte>& content = receive.messages.front()->content;
    assert(static_cast<std::int64_t>(content.size()) == receive.into.size().count);
    std::memcpy(receive.into.data, content.data(), content.size());
    return;
  }
  std::vector<const std::byte*> terms;
  auto message = receive.messages.begin();
  bool marked = false;
  for (const Rank source : receive.sources) {
    marked = marked || source == rank_;
    terms.push_back(source == rank_ ? receive.own.data : (*message++)->content.data());
  }
  if (!marked) terms.insert(terms.begin(), receive.own.data);
  std::byte* const into = receive.into.data;
  reduce(receive.into.type, receive.reduction, terms, {&into, 1}, receive.into.count);
}

}  // namespace collbench
