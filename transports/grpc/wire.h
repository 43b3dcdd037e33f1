// One rank's connections to all others: joining, detection of lost peers, and a clean shutdown.
//
// Streams are opened on demand and in pairs: a rank that accepts a stream opens one back, so that
// both can send elements and control messages. Joining needs the streams of a binomial tree: each
// rank reports ready once its children have, rank 0 then sends "begin" down the tree, and lists of
// missing ranks travel both ways.
//
// Failure: a broken stream does not prove that its peer is the cause, which may have given up
// because of a third rank. So for a short grace period a reason reported by any peer takes
// precedence; then this rank reports the reason to its peers, which pass it on, and throws. A
// finished rank closes its streams in order, which is an error only for peers that still need it.
//
// On a token or version mismatch, neither side can authenticate a message to the other, so each
// reports the mismatch from its own call. A rank that has found one answers the peer's call before
// it ends, so that the peer need not wait for its timeout.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transports/grpc/control.h"
#include "transports/grpc/grpc_endpoint.h"
#include "transports/grpc/server.h"
#include "transports/grpc/stream.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace collbench {

/// Thread safety: belongs to the thread of its endpoint.
class GrpcWire : private OutgoingEvents, private IncomingEvents {
 public:
  /// Receives what arrives, called from within poll().
  class Client {
   public:
    virtual ~Client() = default;
    virtual void received(Rank from, std::span<const std::span<const std::byte>> pieces,
                          const std::shared_ptr<const void>& keeper) = 0;
    /// What this rank is waiting for: the answer to a peer's heartbeat.
    virtual std::string occupation() const = 0;
  };

  /// Listens from now on. `service` is served beside the streams, if any.
  GrpcWire(const GrpcOptions& options, Client& client, grpc::Service* service = nullptr);
  ~GrpcWire() override;
  GrpcWire(const GrpcWire&) = delete;
  GrpcWire& operator=(const GrpcWire&) = delete;

  const std::string& address() const { return address_; }
  void connect(const std::vector<std::string>& addresses);
  /// How many ranks, this one included, are on this rank's host, judged by their addresses.
  int ranks_here() const { return ranks_here_; }

  /// Lets peers take what is in flight, then ends every stream and empties the queue. No callback
  /// follows.
  void stop();

  /// The stream to a peer, opened if need be. Throws TransportError if this rank has failed or the
  /// peer has closed.
  OutgoingStream& to(Rank peer);
  /// Ensures a stream to a peer from which data is expected, so that heartbeats can be sent to it.
  void reach(Rank peer);
  /// Bytes of its stream that gRPC has been given for a peer.
  std::int64_t handed_to(Rank peer) const {
    const Peer& there = peers_[static_cast<std::size_t>(peer)];
    return there.out == nullptr ? 0 : there.out->handed();
  }
  /// Waits until the peer has accepted the stream to it.
  void await_open(Rank peer);
  int streams_opened() const { return streams_opened_; }
  /// The rank authenticated on this connection (named as gRPC does); -1 if none is.
  Rank rank_behind(const std::string& connection) const;
  /// Allows the next bytes of a peer to be read.
  void read(Rank from);
  /// Whether the peer has ended its stream in order, so that no more bytes will come from it.
  bool sent_all(Rank peer) const {
    const Peer& there = peers_[static_cast<std::size_t>(peer)];
    return there.sent_all || (there.takes_none && there.in == nullptr);
  }
  /// Whether a peer without a stream to this rank refuses connections, although every rank of a run
  /// listens: it has ended.
  bool refuses(Rank peer) const {
    const Peer& there = peers_[static_cast<std::size_t>(peer)];
    return !there.opened && there.in == nullptr &&
           there.trouble.find("Connection refused") != std::string::npos;
  }
  bool takes_none(Rank peer) const { return peers_[static_cast<std::size_t>(peer)].takes_none; }

  /// Handles one event, waiting for it at most `longest`; false if there was none.
  /// Throws TransportError once a peer is lost or has given up.
  bool poll(Seconds longest);
  /// Records a failure for poll() to throw: at once if `certain`, otherwise after a grace period in
  /// which another peer may report the cause.
  void suspect(const std::string& what, bool certain);
  /// Reports to every peer that this rank gives up, and throws TransportError(reason).
  [[noreturn]] void fail(const std::string& reason);

  /// Sends a heartbeat. If the peer is alive and polls, answers() grows and answer() is what it is
  /// waiting for.
  void ask(Rank peer);
  std::uint64_t answers(Rank peer) const { return peers_[static_cast<std::size_t>(peer)].answers; }
  const std::string& answer(Rank peer) const {
    return peers_[static_cast<std::size_t>(peer)].answer;
  }

  /// HOST:PORT of a peer; empty before connect().
  const std::string& address_of(Rank peer) const {
    return peers_[static_cast<std::size_t>(peer)].address;
  }
  const GrpcSelf& self() const { return self_; }
  /// Connections for elements that have come since the last call.
  std::vector<ElementsConnection> take_elements() { return server_->guard().take_elements(); }

  grpc::ServerCompletionQueue& queue() { return server_->queue(); }
  const std::shared_ptr<grpc::Channel>& channel(Rank peer) const {
    return peers_[static_cast<std::size_t>(peer)].channel;
  }
  /// Nothing new may be put into the queue.
  bool stopping() const { return phase_ == Phase::stopping; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase { listening, connected, closing, stopping };
  struct Peer {
    std::string address;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<OutgoingStream> out;
    std::unique_ptr<IncomingStream> in;
    bool opened = false;
    bool arrived() const { return in != nullptr && (sent_all || !in->ended()); }
    bool joined() const { return opened && arrived(); }
    bool sent_all = false;
    bool takes_none = false;
    bool retry = false;        // to be opened again
    std::string trouble;       // why it could not be opened
    bool foreign = false;      // its answer showed another token or version
    bool answered = false;     // ... and a call in its name has been answered
    bool awaited = false;      // joining needs it, or tries it in place of its missing parent
    bool ready = false;        // it and all ranks below it in the tree have joined
    std::vector<Rank> misses;  // ranks that it reported missing
    std::string told;          // the last list of missing ranks sent to it
    std::uint64_t answers = 0;
    std::string answer;
  };

  void opened(Rank to) override;
  void called(IncomingStream& stream) override;
  void arrived(IncomingStream& stream, const GrpcIdentity& identity) override;
  void went_away(const GrpcIdentity& claimed) override;
  void received(Rank from, std::span<const std::span<const std::byte>> pieces,
                const std::shared_ptr<const void>& keeper) override;
  void control(Rank from, std::string message) override;
  void outgoing_ended(Rank to, const StreamEnd& end) override;
  void incoming_ended(Rank from, const StreamEnd& end) override;

  std::string unfit_identity(const GrpcIdentity& identity) const;
  void listen_for_next();
  void open_stream(Rank to);
  void open_again();
  void await_joining(Rank peer);
  void await_orphans();
  bool children_ready() const;
  bool advance_joining();
  void tell(Rank peer, const GrpcControl& control);
  void tell_missing();
  bool is_silent(Rank r) const;
  std::vector<Rank> missing_but_for(Rank listener) const;
  std::string missing() const;
  bool handle_one(Seconds longest);
  void drain_until(Clock::time_point deadline, bool (GrpcWire::*enough)() const);
  bool every_stream_to_peers_ended() const;
  bool every_stream_ended() const;
  bool every_foreigner_answered() const;
  void close_streams();
  void shut_down();
  void leave_behind();

  GrpcOptions options_;
  GrpcSelf self_;
  Client& client_;
  const bool is_called_for_buffers_;  // a service is served beside the streams
  std::unique_ptr<grpc::AsyncGenericService> generic_;
  std::unique_ptr<GrpcServer> server_;
  const std::string address_;
  std::vector<Peer> peers_;
  std::unique_ptr<IncomingStream> next_;
  std::vector<std::unique_ptr<IncomingStream>> greeting_;  // called, but not yet proved
  std::map<std::string, Rank> proved_;                     // connections
  std::vector<std::unique_ptr<IncomingStream>> refused_;
  std::vector<std::unique_ptr<OutgoingStream>> abandoned_;
  int ranks_here_ = 1;
  int streams_opened_ = 0;
  bool retries_ = false;       // some peer is to be opened again
  Clock::time_point retried_;  // the last time that was done
  Rank parent_ = -1;           // in the tree of joining
  std::vector<Rank> children_;
  bool said_ready_ = false;
  bool may_begin_ = false;  // the parent has said so
  Phase phase_ = Phase::listening;
  std::string failure_;      // why this rank has given up; empty while it has not
  std::string trouble_;      // what went wrong first, not yet raised
  bool certain_ = false;     // trouble_ is the cause itself, not perhaps its consequence
  Clock::time_point since_;  // trouble_ is known
};

}  // namespace collbench
