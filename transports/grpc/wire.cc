#include "transports/grpc/wire.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <unistd.h>

#include "core/error.h"
#include "core/host_port.h"

namespace collbench {

namespace {

using std::chrono::milliseconds;

// The last write over a dead connection stays pending, and blocks the queue's shutdown, for as long
// as the kernel retransmits: a quarter of an hour.
constexpr milliseconds shut_down_linger{1000};
constexpr milliseconds close_linger{2000};  // in which peers take what is still under way
constexpr int control_limit = 16 << 10;     // bytes
constexpr int spare_of_piece = 64 << 10;    // bytes: copies may exceed a piece a little
constexpr int strangers_at_once = 64;       // connections, beside one of every rank

// Whether gRPC 1.51 probes the bandwidth-delay product. Without, the window of a connection stays
// at 64 KiB ahead of the message being read, and a sender waits for an update with every message: 6
// to 12 % of the time of 1 Gbit/s between busy hosts. With it, received bytes leave the caches
// before they are read, which costs up to a third of the throughput over loopback.
int probes_window(const std::string& listen) {
  return is_loopback(parse_host_port("the address to listen on", listen, 0).host) ? 0 : 1;
}

// gRPC takes memory for every piece it receives and gives it back soon after. By default glibc maps
// and unmaps pieces of this size, and the kernel clears them each time; kept, 1 to 64 MiB between
// two ranks go 1.3 to 1.6 times as fast. A user's MALLOC_MMAP_THRESHOLD_ takes
// precedence.
void keep_freed_memory() {
#ifdef __GLIBC__
  static const bool once = [] {
    if (std::getenv("MALLOC_MMAP_THRESHOLD_") != nullptr) return true;
    mallopt(M_MMAP_THRESHOLD, 256 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 64 << 20);
    return true;
  }();
  (void)once;
#endif
}

GrpcServing serving_of(const GrpcOptions& options, bool is_called_for_buffers) {
  GrpcServing serving;
  serving.listen = options.listen;
  serving.security = {options.job, options.tls};
  serving.rank = options.rank;
  serving.ranks = options.ranks;
  serving.most_unproved = options.ranks + strangers_at_once;
  // Calls for buffers wait until the buffers are sent; a stream is one for good.
  if (is_called_for_buffers) serving.calls_at_once = 1024;
  serving.longest_message = static_cast<int>(options.piece.count) + spare_of_piece;
  serving.arguments = {{GRPC_ARG_HTTP2_BDP_PROBE, probes_window(options.listen)}};
  return serving;
}

}  // namespace

GrpcWire::GrpcWire(const GrpcOptions& options, Client& client, grpc::Service* service)
    : options_(options),
      self_{options.rank, options.ranks, options.job, options.transport},
      client_(client),
      is_called_for_buffers_(service != nullptr),
      generic_(std::make_unique<grpc::AsyncGenericService>()),
      server_(std::make_unique<GrpcServer>(serving_of(options, service != nullptr))),
      address_(server_->address()),
      peers_(static_cast<std::size_t>(options.ranks)) {
  keep_freed_memory();
  std::vector<grpc::Service*> services;
  if (service != nullptr) services.push_back(service);
  server_->start(services, generic_.get());
  listen_for_next();
}

GrpcWire::~GrpcWire() { stop(); }

void GrpcWire::stop() {
  if (phase_ == Phase::stopping) return;
  if (failure_.empty() && phase_ == Phase::connected) close_streams();
  shut_down();
}

void GrpcWire::close_streams() {
  phase_ = Phase::closing;
  for (Peer& peer : peers_) {
    if (peer.out != nullptr) peer.out->close();
    if (peer.in != nullptr) peer.in->close();
  }
  drain_until(Clock::now() + close_linger, &GrpcWire::every_stream_ended);
}

void GrpcWire::shut_down() {
  phase_ = Phase::stopping;
  if (next_ != nullptr) next_->stop();
  for (const auto& stream : refused_) stream->stop();
  for (const auto& stream : greeting_) stream->stop();
  for (const auto& stream : abandoned_) stream->cancel();
  for (Peer& peer : peers_) {
    if (peer.in != nullptr) peer.in->stop();
    if (peer.out != nullptr) peer.out->cancel();
  }
  server_->shut_down(Seconds{0});
  grpc::CompletionQueue& queue = server_->queue();
  queue.Shutdown();
  const gpr_timespec until = gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(shut_down_linger.count(), GPR_TIMESPAN));
  void* tag = nullptr;
  bool ok = false;
  auto status = grpc::CompletionQueue::GOT_EVENT;
  while ((status = queue.AsyncNext(&tag, &ok, until)) == grpc::CompletionQueue::GOT_EVENT) {
    static_cast<GrpcTag*>(tag)->run(ok);
  }
  if (status == grpc::CompletionQueue::TIMEOUT) leave_behind();
  abandoned_.clear();
  for (Peer& peer : peers_) {
    peer.out.reset();
    peer.channel.reset();
  }
}

// Keeps until the process ends what cannot be destroyed now.
void GrpcWire::leave_behind() {
  struct Remains {
    std::unique_ptr<grpc::AsyncGenericService> generic;
    std::unique_ptr<GrpcServer> server;
    std::vector<Peer> peers;
    std::unique_ptr<IncomingStream> next;
    std::vector<std::unique_ptr<IncomingStream>> greeting, refused;
    std::vector<std::unique_ptr<OutgoingStream>> abandoned;
  };
  static std::vector<Remains*> all;
  static std::mutex mutex;
  // gRPC's threads still use them, and what the process destroys at its end is gRPC's, too.
  static const int at_end = on_exit([](int code, void*) { _exit(code); }, nullptr);
  (void)at_end;
  const std::lock_guard lock(mutex);
  all.push_back(new Remains{std::move(generic_), std::move(server_), std::move(peers_),
                            std::move(next_), std::move(greeting_), std::move(refused_),
                            std::move(abandoned_)});
  peers_ = std::vector<Peer>(static_cast<std::size_t>(options_.ranks));
}

void GrpcWire::listen_for_next() {
  next_ = std::make_unique<IncomingStream>(*generic_, queue(), self_,
                                           static_cast<IncomingEvents&>(*this));
}

void GrpcWire::open_stream(Rank to) {
  Peer& peer = peers_[static_cast<std::size_t>(to)];
  if (peer.channel == nullptr) {
    const ChannelArgument arguments[] = {
        {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 3000},  // TLS included
        // Buffers come whole as the answers of calls; streams bring back control messages only.
        {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, is_called_for_buffers_ ? -1 : control_limit},
        {GRPC_ARG_HTTP2_BDP_PROBE, probes_window(options_.listen)}};
    peer.channel = make_channel(peer.address, {options_.job, options_.tls}, arguments,
                                options_.rank, options_.ranks);
    ++streams_opened_;
  }
  auto stream =
      std::make_unique<OutgoingStream>(peer.channel, queue(), grpc_names::exchange, to, self_,
                                       options_.piece.count, static_cast<OutgoingEvents&>(*this));
  if (peer.out != nullptr) {
    stream->take_unsent(*peer.out);
    abandoned_.push_back(std::move(peer.out));
  }
  peer.retry = false;
  peer.out = std::move(stream);
}

}  // namespace collbench
