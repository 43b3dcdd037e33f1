// What every endpoint over a wire has in common: tickets, posted receives, and waiting.
//
// Derived classes decide how bytes reach the intake: pushed by streams or pulled by calls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/grpc/grpc_endpoint.h"
#include "transports/grpc/intake.h"
#include "transports/grpc/timeouts.h"
#include "transports/grpc/wire.h"
#include "transports/ticket_pool.h"

namespace collbench {

/// Thread safety: as Endpoint.
class PolledEndpoint : public GrpcEndpoint, protected GrpcWire::Client {
 public:
  Rank rank() const override { return options_.rank; }
  int ranks() const override { return options_.ranks; }
  Seconds now() const override;
  std::string address() const override { return wire_->address(); }
  void connect(const std::vector<std::string>& addresses) override { wire_->connect(addresses); }
  int streams_opened() const override { return wire_->streams_opened(); }
  void reserve(const Traffic& /*traffic*/) override {}  // any number of messages fits

  Ticket recv(Rank from, Region into) override;
  Ticket recv_reduce(std::span<const Rank> sources, Region own, Region into,
                     Reduction reduction) override;
  void wait(Ticket ticket) override;
  std::string give_up(const std::string& reason) override;

 protected:
  /// Derived classes make wire_, and stop it before they are gone.
  explicit PolledEndpoint(const GrpcOptions& options);

  /// A send that gRPC still needs memory for; complete when `slices` is released.
  struct Sending {
    SliceCount::Owner slices = SliceCount::make();
    Rank to = -1;
    Bytes size;
  };
  Sending& start_sending(Rank to, Bytes size, Ticket& ticket);
  void check_peer(Rank peer) const;

  /// A receive of `size` bytes from `from` was posted.
  virtual void expect(Rank /*from*/, Bytes /*size*/, bool /*fold*/) {}
  /// Whether nothing more will come from a peer.
  virtual bool has_ended(Rank peer) const { return wire_->sent_all(peer); }
  /// A count that grows while bytes for a peer leave this rank.
  virtual std::int64_t handed_to(Rank peer) const { return wire_->handed_to(peer); }
  /// As GrpcPoll.
  virtual bool poll(Seconds longest) { return wire_->poll(longest); }
  /// Bytes have left the queues of the intake.
  virtual void made_room() {}

  const GrpcOptions options_;
  Intake intake_;
  std::unique_ptr<GrpcWire> wire_;

 private:
  void settle();
  void await(const GrpcAwaited& awaited);
  std::string occupation() const override;

  const GrpcPoll poll_ = [this](Seconds longest) { return poll(longest); };
  TicketPool<Sending> sendings_;
  const GrpcAwaited* awaited_ = nullptr;
};

}  // namespace collbench
