// The messages of all ranks on their way through SimGrid, and what links carry.
//
// Both sides identify a message by its position in the order from one rank to another, whichever
// comes first. It becomes ready when its sender is there (eager) or both sides are (rendezvous);
// a timer pays its latency; then it flows, once the messages of earlier rounds between the same two
// have arrived. Its mailbox is chosen when either side first names it, so messages with different
// latencies may overtake each other and still be distinguished.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/program.h"
#include "simulator/simgrid/child.h"
#include "simulator/simgrid/kernel.h"
#include "simulator/simulate.h"

namespace collbench {

struct SimgridMessage {
  Rank from = 0;
  Rank to = 0;
  int round = 0;
  Flow flow;
  bool sent = false;     // the sender has been here
  bool awaited = false;  // the receiver has been here
  bool latency_over = false;
  bool flows = false;
  double ready = 0;
  double start = 0;
  double arrival = -1;  // known once the receiver has waited for it
  SimgridKernel::Mailbox* mailbox = nullptr;
  SimgridKernel::Comm* put = nullptr;
  SimgridKernel::Comm* get = nullptr;
  std::vector<std::byte> content;  // with real data: what was sent
};
using SimgridMessagePtr = std::shared_ptr<SimgridMessage>;

/// Times with at least one flow, from flows given in order of their starts and ending in any order.
class BusyTime {
 public:
  void begin(const SimgridMessage* message, double start);
  void end(const SimgridMessage* message, double arrival);
  double total() const;

 private:
  struct Span {
    const SimgridMessage* message;  // null once it has ended
    double start;
    double end;
  };
  void fold(const Span& span);

  std::deque<Span> open_;  // in order of start; the first one has not ended
  double busy_ = 0;
  double first_ = 0;  // of the stretch that is growing
  double last_ = 0;
};

/// Belongs to one simulation: its actors take turns, so it needs no lock.
class SimgridWorld {
 public:
  SimgridWorld(const Scenario& scenario, Program& program, SimgridKernel& kernel, Child& child);

  const Scenario& scenario() const { return scenario_; }
  Program& program() { return program_; }
  SimgridKernel& kernel() { return kernel_; }

  // By the sender. `content` may be empty.
  SimgridMessagePtr send(Rank from, int round, const Flow& flow, std::vector<std::byte> content);
  // By the receiver: as it enters the round, and to wait. wait() makes the message's mailbox free.
  SimgridMessagePtr expect(Rank from, Rank to);
  void wait(SimgridMessage& message);
  /// A rank leaves rounds [first, last) now.
  void leave(int first, int last);

  std::int64_t messages() const { return messages_; }
  const std::vector<double>& round_end() const { return round_end_; }
  std::vector<LinkUse> links() const;
  std::vector<Transfer> transfers() const;  // in order of arrival

 private:
  struct Channel {                       // from one rank to another
    std::deque<SimgridMessagePtr> sent;  // those that one side has heard of
    std::deque<SimgridMessagePtr> awaited;
    std::deque<SimgridMessagePtr> lane;  // sent and, as far as anybody looked, not arrived
    bool watched = false;                // by a helper, which starts what follows
  };
  Channel& channel(Rank from, Rank to) { return channels_[static_cast<std::size_t>(to)][from]; }
  SimgridMessagePtr meet(std::deque<SimgridMessagePtr>& partners,
                         std::deque<SimgridMessagePtr>& waiting, Rank from, Rank to);
  void provide_mailbox(Rank to);
  void become_ready(const SimgridMessagePtr& message);
  void start(SimgridMessage& message);
  void start_head(Channel& channel);
  void watch(Channel& channel);
  void keep_for_trace(const SimgridMessage& message);

  const Scenario& scenario_;
  Program& program_;
  SimgridKernel& kernel_;
  Child& child_;
  std::vector<std::unordered_map<Rank, Channel>> channels_;      // by receiver
  std::vector<std::vector<SimgridKernel::Mailbox*>> mailboxes_;  // by receiver, free ones
  std::vector<BusyTime> busy_;                                   // by link
  std::vector<double> carried_;
  std::vector<double> round_end_;
  std::vector<Transfer> trace_;  // a heap, the last to arrive on top
  std::int64_t messages_ = 0;
};

}  // namespace collbench
