#include "simulator/simgrid/world.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace collbench {
namespace {

bool arrives_earlier(const Transfer& a, const Transfer& b) { return a.arrival < b.arrival; }

}  // namespace

void BusyTime::begin(const SimgridMessage* message, double start) {
  open_.push_back({message, start, 0});
}

void BusyTime::end(const SimgridMessage* message, double arrival) {
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Span& span) { return span.message == message; });
  assert(found != open_.end());
  found->message = nullptr;
  found->end = arrival;
  while (!open_.empty() && open_.front().message == nullptr) {
    fold(open_.front());
    open_.pop_front();
  }
}

void BusyTime::fold(const Span& span) {
  if (span.start > last_) {
    busy_ += last_ - first_;
    first_ = span.start;
    last_ = span.end;
  } else {
    last_ = std::max(last_, span.end);
  }
}

double BusyTime::total() const { return busy_ + last_ - first_; }

SimgridWorld::SimgridWorld(const Scenario& scenario, Program& program, SimgridKernel& kernel,
                           Child& child)
    : scenario_(scenario),
      program_(program),
      kernel_(kernel),
      child_(child),
      channels_(static_cast<std::size_t>(program.positions())),
      mailboxes_(static_cast<std::size_t>(program.positions())),
      round_end_(static_cast<std::size_t>(program.rounds())) {
  if (!scenario.link_use) return;
  busy_.resize(program.capacities().size());
  carried_.resize(program.capacities().size());
}

// Asking SimGrid for anything lets other actors run. So everything that takes two steps, as looking
// for a partner and noting to be the first, is done without asking in between.
SimgridMessagePtr SimgridWorld::meet(std::deque<SimgridMessagePtr>& partners,
                                     std::deque<SimgridMessagePtr>& waiting, Rank from, Rank to) {
  if (!partners.empty()) {
    SimgridMessagePtr message = std::move(partners.front());
    partners.pop_front();
    return message;
  }
  auto message = std::make_shared<SimgridMessage>();
  message->from = from;
  message->to = to;
  message->mailbox = mailboxes_[static_cast<std::size_t>(to)].back();
  mailboxes_[static_cast<std::size_t>(to)].pop_back();
  waiting.push_back(message);
  return message;
}

void SimgridWorld::provide_mailbox(Rank to) {
  auto& free = mailboxes_[static_cast<std::size_t>(to)];
  while (free.empty()) {
    SimgridKernel::Mailbox* const mailbox = kernel_.open_mailbox(to);
    free.push_back(mailbox);
  }
}

SimgridMessagePtr SimgridWorld::send(Rank from, int round, const Flow& flow,
                                     std::vector<std::byte> content) {
  provide_mailbox(flow.to);
  Channel& c = channel(from, flow.to);
  SimgridMessagePtr message = meet(c.awaited, c.sent, from, flow.to);
  message->round = round;
  message->flow = flow;
  message->content = std::move(content);
  message->put = kernel_.put(message->mailbox, flow.wire_bytes, flow.cap);
  message->sent = true;
  c.lane.push_back(message);
  ++messages_;
  if (scenario_.posting == Posting::eager || message->awaited) become_ready(message);
  return message;
}

SimgridMessagePtr SimgridWorld::expect(Rank from, Rank to) {
  provide_mailbox(to);
  Channel& c = channel(from, to);
  SimgridMessagePtr message = meet(c.sent, c.awaited, from, to);
  message->awaited = true;
  if (scenario_.posting == Posting::rendezvous && message->sent) become_ready(message);
  message->get = kernel_.get(message->mailbox);
  return message;
}

void SimgridWorld::become_ready(const SimgridMessagePtr& message) {
  message->ready = kernel_.now();
  kernel_.at(message->ready + message->flow.latency.count(), [this, message] {
    message->latency_over = true;
    start_head(channel(message->from, message->to));
  });
}

// Starts what may flow: the messages of the earliest round. If others are behind them that could
// flow but for those, a helper looks for their end. (SimGrid reports it to no other actor in time.)
void SimgridWorld::start_head(Channel& channel) {
  std::deque<SimgridMessagePtr>& lane = channel.lane;
  while (!lane.empty() && lane.front()->arrival >= 0) lane.pop_front();
  bool flowing = false;
  bool held_up = false;
  for (const SimgridMessagePtr& message : lane) {
    const bool head = message->round == lane.front()->round;
    if (head && message->latency_over && !message->flows) start(*message);
    flowing = flowing || (message->flows && message->arrival < 0);
    held_up = held_up || (!head && message->latency_over);
  }
  if (flowing && held_up && !channel.watched) watch(channel);
}

// Asking SimGrid for anything but what at() allows would let others change the lane meanwhile.
void SimgridWorld::watch(Channel& channel) {
  channel.watched = true;
  const auto flows = [](const SimgridMessagePtr& m) { return m->flows && m->arrival < 0; };
  const SimgridMessagePtr message = *std::find_if(channel.lane.begin(), channel.lane.end(), flows);
  kernel_.help(message->to, [this, &channel, message] {
    if (message->arrival < 0) {
      kernel_.watch(message->put);
      message->arrival = kernel_.now();
    }
    kernel_.at(kernel_.now(), [this, &channel] {
      channel.watched = false;
      start_head(channel);
    });
  });
}

void SimgridWorld::start(SimgridMessage& message) {
  message.flows = true;
  message.start = kernel_.now();
  kernel_.start(message.put);
  if (busy_.empty()) return;
  for (const LinkPath::Use& use :
       program_.paths()[static_cast<std::size_t>(message.flow.path)].links) {
    const auto link = static_cast<std::size_t>(use.link);
    carried_[link] += message.flow.wire_bytes;
    busy_[link].begin(&message, message.start);
  }
}

void SimgridWorld::wait(SimgridMessage& message) {
  message.arrival = kernel_.wait(message.get);
  child_.progress();
  mailboxes_[static_cast<std::size_t>(message.to)].push_back(message.mailbox);
  if (scenario_.trace_limit > 0) keep_for_trace(message);
  if (busy_.empty()) return;
  for (const LinkPath::Use& use :
       program_.paths()[static_cast<std::size_t>(message.flow.path)].links) {
    busy_[static_cast<std::size_t>(use.link)].end(&message, message.arrival);
  }
}

void SimgridWorld::leave(int first, int last) {
  const double now = kernel_.now();
  for (int t = first; t < last; ++t) {
    double& end = round_end_[static_cast<std::size_t>(t)];
    end = std::max(end, now);
  }
}

void SimgridWorld::keep_for_trace(const SimgridMessage& message) {
  trace_.push_back({message.from, message.to, message.round, message.flow.bytes,
                    Seconds{message.ready}, Seconds{message.start}, Seconds{message.arrival}});
  std::push_heap(trace_.begin(), trace_.end(), arrives_earlier);
  if (static_cast<std::int64_t>(trace_.size()) > scenario_.trace_limit) {
    std::pop_heap(trace_.begin(), trace_.end(), arrives_earlier);
    trace_.pop_back();
  }
}

std::vector<Transfer> SimgridWorld::transfers() const {
  std::vector<Transfer> sorted = trace_;
  std::stable_sort(sorted.begin(), sorted.end(), arrives_earlier);
  return sorted;
}

std::vector<LinkUse> SimgridWorld::links() const {
  std::vector<LinkUse> links;
  for (std::size_t l = 0; l < busy_.size(); ++l) {
    links.push_back({carried_[l], Seconds{busy_[l].total()}});
  }
  return links;
}

}  // namespace collbench
