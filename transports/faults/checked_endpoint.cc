#include "transports/faults/checked_endpoint.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/crc32c.h"
#include "core/error.h"
#include "transports/faults/wrapped_endpoint.h"
#include "transports/kernels/kernels.h"
#include "transports/ticket_pool.h"

namespace collbench {

namespace {

std::span<const std::byte> bytes_of(const Region& region) {
  return {region.data, static_cast<std::size_t>(region.size().count)};
}

// What is sent before a message, in the byte order of the machine, which ranks have in common.
struct Frame {
  std::uint64_t number = 0;  // of the message from its sender to its receiver
  std::int64_t bytes = 0;
  std::uint32_t data_sum = 0;
  std::uint32_t own_sum = 0;  // of the fields before it
  std::uint64_t reserved = 0;

  std::uint32_t sum() const {
    return crc32c(std::as_bytes(std::span(this, 1)).first(offsetof(Frame, own_sum)), 1);
  }
  Region region() { return {reinterpret_cast<std::byte*>(this), sizeof(Frame), DataType::u8}; }
};
static_assert(sizeof(Frame) == 32);

class CheckedEndpoint final : public WrappedEndpoint {
 public:
  explicit CheckedEndpoint(std::unique_ptr<Endpoint> endpoint)
      : WrappedEndpoint(std::move(endpoint)),
        sent_(static_cast<std::size_t>(endpoint_->ranks()), 0),
        received_(sent_) {}

  void reserve(const Traffic& traffic) override {
    endpoint_->reserve({checked_messages * traffic.messages_per_peer_and_round});
  }
  Ticket send(Rank to, Region from) override {
    if (from.count == 0) return 0;
    const std::size_t slot = sendings_.take();
    Sending& sending = sendings_[slot];
    sending.frame.number = sent_[static_cast<std::size_t>(to)]++;
    sending.frame.bytes = from.size().count;
    sending.frame.data_sum = crc32c(bytes_of(from));
    sending.frame.own_sum = sending.frame.sum();
    sending.frame_ticket = endpoint_->send(to, sending.frame.region());
    sending.data_ticket = endpoint_->send(to, from);
    return send_ticket(slot);
  }

  Ticket recv(Rank from, Region into) override {
    if (into.count == 0) return 0;
    const std::size_t slot = receivings_.take();
    Receiving& receiving = begin(slot, 1, into, into);
    receiving.sources = {};
    post(receiving.parts[receiving.parts_used++], from, into, receiving.staged);
    posted_.push_back(&receiving);
    return receive_ticket(slot);
  }

  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override {
    if (into.count == 0) return 0;
    const std::size_t slot = receivings_.take();
    Receiving& receiving = begin(slot, sources.size(), own, into);
    receiving.sources = sources;
    receiving.reduction = reduction;
    for (const Rank source : sources) {
      if (source != rank()) post(receiving.parts[receiving.parts_used++], source, into, true);
    }
    posted_.push_back(&receiving);
    return receive_ticket(slot);
  }

  void wait(Ticket ticket) override {
    if (ticket == 0) return;
    const std::size_t slot = slot_of(ticket);
    if (is_send(ticket)) {
      endpoint_->wait(sendings_[slot].frame_ticket);
      endpoint_->wait(sendings_[slot].data_ticket);
      sendings_.give_back(slot);
    } else {
      finish(receivings_[slot]);
      receivings_.give_back(slot);
    }
  }

 private:
  struct Sending {
    Frame frame;
    Ticket frame_ticket = 0;
    Ticket data_ticket = 0;
  };
  // One message of a receive.
  struct Part {
    Rank from = -1;
    std::uint64_t number = 0;
    Frame frame;
    Region data;
    Ticket frame_ticket = 0;
    Ticket data_ticket = 0;
    std::vector<std::byte> memory;  // where the data comes to, unless it is the user's
  };
  struct Receiving {
    std::size_t parts_used = 0;
    std::vector<Part> parts;
    bool staged = false;  // the data is not in its place yet
    Region own, into;
    std::span<const Rank> sources;  // empty for a plain receive
    Reduction reduction;
  };

  Receiving& begin(std::size_t slot, std::size_t messages, Region own, Region into) {
    Receiving& receiving = receivings_[slot];
    if (receiving.parts.size() < messages) receiving.parts.resize(messages);
    receiving.parts_used = 0;
    receiving.own = own;
    receiving.into = into;
    // Memory that an earlier receive still has to read or write must not change before.
    receiving.staged = std::any_of(posted_.begin(), posted_.end(), [&](const Receiving* earlier) {
      return overlap(earlier->into, into) || overlap(earlier->own, into);
    });
    return receiving;
  }

  void post(Part& part, Rank from, Region user, bool staged) {
    part.from = from;
    part.number = received_[static_cast<std::size_t>(from)]++;
    part.data = user;
    if (staged) {
      const auto size = static_cast<std::size_t>(user.size().count);
      if (part.memory.size() < size) part.memory.resize(size);
      part.data.data = part.memory.data();
    }
    part.frame_ticket = endpoint_->recv(from, part.frame.region());
    part.data_ticket = endpoint_->recv(from, part.data);
  }

  // Earlier receives that touch the same memory come first.
  void finish(Receiving& receiving) {
    for (;;) {
      const auto earlier =
          std::find_if(posted_.begin(), posted_.end(), [&](const Receiving* other) {
            return other == &receiving || overlap(other->into, receiving.into) ||
                   overlap(other->into, receiving.own) || overlap(other->own, receiving.into);
          });
      if (earlier == posted_.end()) return;  // a later one needed it
      if (*earlier == &receiving) break;
      finish(**earlier);
    }
    for (std::size_t i = 0; i < receiving.parts_used; ++i) take_in(receiving.parts[i]);
    if (!receiving.sources.empty()) {
      fold(receiving);
    } else if (receiving.staged) {
      collbench::copy(receiving.into.data, receiving.parts[0].data.data,
                      receiving.into.size().count);
    }
    std::erase(posted_, &receiving);
  }

  // Waits for a message and compares it with its frame.
  void take_in(Part& part) {
    endpoint_->wait(part.frame_ticket);
    const Frame& frame = part.frame;
    const std::string sender = fmt::format("rank {}", part.from);
    const std::string message = fmt::format("message {} to rank {}", part.number, rank());
    if (frame.own_sum != frame.sum()) {
      fail(fmt::format("{} sent corrupt data: what came before {} is not its frame", sender,
                       message));
    }
    if (frame.number != part.number) {
      fail(fmt::format("{} sent corrupt data: message {} came where {} was due", sender,
                       frame.number, message));
    }
    if (frame.bytes != part.data.size().count) {
      fail(fmt::format("{} sent {} bytes as {}, which expects {}", sender, frame.bytes, message,
                       part.data.size().count));
    }
    endpoint_->wait(part.data_ticket);
    const std::uint32_t sum = crc32c(bytes_of(part.data));
    if (sum == frame.data_sum) return;
    fail(fmt::format("{} sent corrupt data: {} ({} bytes) has the checksum {:08x}, not {:08x}",
                     sender, message, frame.bytes, sum, frame.data_sum));
  }

  void fold(Receiving& receiving) {
    const std::span<const Rank> sources = receiving.sources;
    terms_.clear();
    if (std::find(sources.begin(), sources.end(), rank()) == sources.end()) {
      terms_.push_back(receiving.own.data);
    }
    std::size_t next = 0;
    for (const Rank source : sources) {
      terms_.push_back(source == rank() ? receiving.own.data : receiving.parts[next++].data.data);
    }
    std::byte* const into = receiving.into.data;
    collbench::reduce(receiving.into.type, receiving.reduction, terms_, {&into, 1},
                      receiving.into.count);
  }

  // A sender that has failed may have released its memory: then its reason is reported, not the
  // sum.
  [[noreturn]] void fail(const std::string& reason) {
    throw TransportError(endpoint_->give_up(reason));
  }

  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
  TicketPool<Sending> sendings_;
  TicketPool<Receiving> receivings_;
  std::vector<Receiving*> posted_;  // and not finished, in the order posted
  std::vector<const std::byte*> terms_;
};

}  // namespace

std::unique_ptr<Endpoint> make_checked_endpoint(std::unique_ptr<Endpoint> endpoint) {
  return std::make_unique<CheckedEndpoint>(std::move(endpoint));
}

}  // namespace collbench
