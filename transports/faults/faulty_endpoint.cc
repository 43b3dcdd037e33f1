#include "transports/faults/faulty_endpoint.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <thread>
#include <utility>

#include "core/random.h"
#include "transports/faults/wrapped_endpoint.h"

namespace collbench {

namespace {

using Kind = InjectedFault::Kind;

class FaultyEndpoint final : public WrappedEndpoint {
 public:
  FaultyEndpoint(std::unique_ptr<Endpoint> endpoint, std::vector<InjectedFault> faults,
                 int messages)
      : WrappedEndpoint(std::move(endpoint)),
        faults_(std::move(faults)),
        messages_(messages),
        sent_(static_cast<std::size_t>(endpoint_->ranks()), 0),
        received_(sent_) {
    for (const InjectedFault& fault : faults_) {
      engines_.push_back(
          random_engine(fault.seed, "faults", static_cast<std::uint64_t>(endpoint_->rank())));
    }
  }

  void reserve(const Traffic& traffic) override {
    endpoint_->reserve({traffic.messages_per_peer_and_round + 1});  // one may come twice
  }
  Ticket send(Rank to, Region from) override {
    const InjectedFault* fault = next_fault(rank(), to, sent_[static_cast<std::size_t>(to)]);
    if (fault != nullptr && held_.contains(to)) release(to);
    if (fault != nullptr) return send_damaged(*fault, to, from);
    const bool frame = sent_[static_cast<std::size_t>(to)] % messages_ != 0;
    const Ticket ticket = endpoint_->send(to, from);
    if (!frame && held_.contains(to)) {
      held_.at(to).fault->note_struck();  // only now: a held message may find no other to swap with
      release(to);
    }
    return ticket;
  }

  Ticket recv(Rank from, Region into) override {
    const bool damaged =
        next_fault(from, rank(), received_[static_cast<std::size_t>(from)]) != nullptr;
    const Ticket ticket = endpoint_->recv(from, into);
    return damaged ? special({ticket}, into) : ticket;
  }

  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
    bool damaged = false;
    for (const Rank source : sources) {
      if (source == rank()) continue;
      auto& count = received_[static_cast<std::size_t>(source)];
      damaged = next_fault(source, rank(), count) != nullptr || damaged;
    }
    const Ticket ticket = endpoint_->recv_reduce(sources, own, into, reduction);
    return damaged ? special({ticket}, into) : ticket;
  }

  void wait(Ticket ticket) override {
    if ((ticket & special_mark) == 0) {
      endpoint_->wait(ticket);
      return;
    }
    const auto held = std::find_if(held_.begin(), held_.end(), [&](const auto& entry) {
      return entry.second.ticket == ticket;
    });
    if (held != held_.end()) release(held->first);
    const Special special = std::move(specials_.at(ticket & ~special_mark));
    specials_.erase(ticket & ~special_mark);
    for (const Ticket inner : special.tickets) endpoint_->wait(inner);
    if (special.damaged.count == 0) return;
    special.damaged.data[special.damaged.size().count / 2] ^= std::byte{0x10};
  }

 private:
  // What a ticket of this class stands for.
  struct Special {
    std::vector<Ticket> tickets;  // of the endpoint
    Region damaged;               // one bit of it is flipped after it has arrived
  };
  struct Held {
    Ticket ticket;
    Region region;
    const InjectedFault* fault;
  };
  static constexpr Ticket special_mark = Ticket{1} << 62;  // no endpoint's tickets have this bit
  // The fault that applies to the next message of a pair, if any. All faults draw, so that each
  // one's random sequence does not depend on the others.

  const InjectedFault* next_fault(Rank from, Rank to, std::int64_t& count) {
    const std::int64_t message = count++;
    if (message % messages_ != messages_ - 1) return nullptr;
    const InjectedFault* found = nullptr;
    for (std::size_t i = 0; i < faults_.size(); ++i) {
      const bool received = faults_[i].kind == Kind::corrupt;
      if (received != (to == rank())) continue;
      const bool applies = faults_[i].applies_to(from, to, message / messages_, engines_[i]);
      if (applies && found == nullptr) found = &faults_[i];
    }
    return found;
  }

  Ticket special(std::vector<Ticket> tickets, Region damaged = {}) {
    specials_[++last_special_] = {std::move(tickets), damaged};
    return special_mark | last_special_;
  }
  Ticket send_damaged(const InjectedFault& fault, Rank to, Region from) {
    switch (fault.kind) {
      case Kind::drop:
        return special({});
      case Kind::delay:
        std::this_thread::sleep_for(fault.time);
        break;
      case Kind::duplicate: {
        const Ticket first = endpoint_->send(to, from);
        return special({first, endpoint_->send(to, from)});
      }
      case Kind::truncate:
        return special({endpoint_->send(to, from.part(0, from.count / 2))});
      case Kind::reorder: {
        const Ticket ticket = special({});
        held_[to] = {ticket, from, &fault};
        return ticket;
      }
      case Kind::kill:
        return send_and_raise(SIGKILL, fault.early, to, from);
      case Kind::stop:
        return send_and_raise(SIGSTOP, fault.early, to, from);
      case Kind::corrupt:
      case Kind::late:
        break;  // done by the receiver, and before the all-reduce
    }
    return endpoint_->send(to, from);
  }

  Ticket send_and_raise(int signal, bool early, Rank to, Region from) {
    if (early) std::raise(signal);
    const Ticket ticket = endpoint_->send(to, from);
    if (!early) std::raise(signal);
    return ticket;
  }

  // Sends what was held back.
  void release(Rank to) {
    const Held held = held_.at(to);
    held_.erase(to);
    specials_.at(held.ticket & ~special_mark).tickets = {endpoint_->send(to, held.region)};
  }

  std::vector<InjectedFault> faults_;
  std::vector<RandomEngine> engines_;
  int messages_;
  std::vector<std::int64_t> sent_;
  std::vector<std::int64_t> received_;
  std::map<Ticket, Special> specials_;
  Ticket last_special_ = 0;
  std::map<Rank, Held> held_;
};

}  // namespace

std::unique_ptr<Endpoint> make_faulty_endpoint(std::unique_ptr<Endpoint> endpoint,
                                               std::vector<InjectedFault> faults, int messages) {
  return std::make_unique<FaultyEndpoint>(std::move(endpoint), std::move(faults), messages);
}

}  // namespace collbench
