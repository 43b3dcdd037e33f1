#include "transports/grpc_wire.h"

#include <algorithm>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <grpc/support/log.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "core/error.h"

namespace collbench {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds close_linger{2000};  // in which peers take what is still under way
constexpr Seconds retry_pause{0.05};
constexpr std::chrono::seconds report_period{2};
constexpr int metadata_limit = 8192;  // bytes

struct Argument {
  const char* name;
  int value;
};

// Measured with gRPC 1.51: probing the bandwidth-delay product costs a fifth of the throughput over
// loopback; a window as large as the largest burst keeps the sender from waiting for updates.
constexpr Argument arguments[] = {
    {GRPC_ARG_HTTP2_BDP_PROBE, 0},
    {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 20},
    {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1},
    {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1},
    {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1},
    {GRPC_ARG_MAX_METADATA_SIZE, metadata_limit},
    {GRPC_ARG_ALLOW_REUSEPORT, 0},
    {GRPC_ARG_ENABLE_HTTP_PROXY, 0},
    {GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100},
    {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000},
    {GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000},
};

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

std::string name_of(Rank rank) { return "rank " + std::to_string(rank); }

// What gRPC would print is told by our errors; only who asks for its log gets it.
void silence_grpc() {
  static const bool once = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    return true;
  }();
  (void)once;
}

// gRPC takes memory for every piece it receives and gives it back soon after. By default glibc maps
// and unmaps pieces of this size, and the kernel clears them each time; kept, 1 to 64 MiB between
// two ranks go 1.3 to 1.6 times as fast. Whoever sets MALLOC_MMAP_THRESHOLD_ decides for himself.
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

}  // namespace

GrpcWire::GrpcWire(const GrpcOptions& options, Client& client, grpc::Service* service)
    : options_(options),
      client_(client),
      generic_(std::make_unique<grpc::AsyncGenericService>()),
      peers_(static_cast<std::size_t>(options.ranks)) {
  const std::size_t colon = options.listen.rfind(':');
  require(colon != std::string::npos,
          "grpc: the address to listen on must be HOST:PORT, not '" + options.listen + "'");
  silence_grpc();
  keep_freed_memory();
  grpc::ServerBuilder builder;
  for (const auto& [name, value] : arguments) builder.AddChannelArgument(name, value);
  int port = 0;
  builder.AddListeningPort(options.listen, grpc::InsecureServerCredentials(), &port);
  if (service != nullptr) builder.RegisterService(service);
  builder.RegisterAsyncGenericService(generic_.get());
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr || port == 0) {
    shut_down();
    throw TransportError("grpc: cannot listen on " + options.listen +
                         ": the port is taken or the address is not of this host");
  }
  address_ = options.listen.substr(0, colon + 1) + std::to_string(port);
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
  for (const auto& stream : abandoned_) stream->cancel();
  for (Peer& peer : peers_) {
    if (peer.in != nullptr) peer.in->stop();
    if (peer.out != nullptr) peer.out->cancel();
  }
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<GrpcTag*>(tag)->run(ok);
  abandoned_.clear();
  for (Peer& peer : peers_) {
    peer.out.reset();
    peer.channel.reset();
  }
}

void GrpcWire::listen_for_next() {
  next_ = std::make_unique<IncomingStream>(*generic_, *queue_, static_cast<StreamEvents&>(*this));
}

void GrpcWire::open_stream(Rank to) {
  Peer& peer = peers_[static_cast<std::size_t>(to)];
  if (peer.channel == nullptr) {
    grpc::ChannelArguments channel_arguments;
    for (const auto& [name, value] : arguments) channel_arguments.SetInt(name, value);
    peer.channel = grpc::CreateCustomChannel(peer.address, grpc::InsecureChannelCredentials(),
                                             channel_arguments);
  }
  if (peer.out != nullptr) abandoned_.push_back(std::move(peer.out));
  peer.retry = false;
  peer.out = std::make_unique<OutgoingStream>(
      peer.channel, *queue_, to, GrpcIdentity{options_.rank, options_.ranks, options_.job},
      options_.piece.count, static_cast<StreamEvents&>(*this));
}

void GrpcWire::connect(const std::vector<std::string>& addresses) {
  require(std::ssize(addresses) == options_.ranks,
          "grpc: connect() needs the addresses of all " + std::to_string(options_.ranks) +
              " ranks, not " + std::to_string(addresses.size()));
  require(phase_ == Phase::listening, "grpc: connect() must be called only once");
  const std::string here = host_of(addresses[static_cast<std::size_t>(options_.rank)]);
  ranks_here_ =
      static_cast<int>(std::count_if(addresses.begin(), addresses.end(),
                                     [&](const auto& there) { return host_of(there) == here; }));
  for (Rank r = 0; r < options_.ranks; ++r) {
    if (r == options_.rank) continue;
    peers_[static_cast<std::size_t>(r)].address = addresses[static_cast<std::size_t>(r)];
    open_stream(r);
  }
  const Clock::time_point start = Clock::now();
  Clock::time_point reported = start;
  Clock::time_point retried = start;
  while (!everyone_joined()) {
    poll(retry_pause);
    const Clock::time_point now = Clock::now();
    if (now - start > options_.timeout) {
      fail(name_of(options_.rank) + " waited " + to_string(options_.timeout) + " for " + missing());
    }
    if (options_.on_waiting && now - reported > report_period) {
      reported = now;
      options_.on_waiting("waiting for " + missing());
    }
    if (now - retried < retry_pause) continue;
    retried = now;
    for (Rank r = 0; r < options_.ranks; ++r) {
      if (peers_[static_cast<std::size_t>(r)].retry) open_stream(r);
    }
  }
  phase_ = Phase::connected;
}

bool GrpcWire::everyone_joined() const {
  for (Rank r = 0; r < options_.ranks; ++r) {
    const Peer& peer = peers_[static_cast<std::size_t>(r)];
    if (r != options_.rank && (!peer.opened || !peer.arrived())) return false;
  }
  return true;
}

std::string GrpcWire::missing() const {
  std::string names;
  for (Rank r = 0; r < options_.ranks; ++r) {
    const Peer& peer = peers_[static_cast<std::size_t>(r)];
    if (r == options_.rank || (peer.opened && peer.arrived())) continue;
    names += (names.empty() ? "" : ", ") + name_of(r) + " at " + peer.address +
             (peer.opened ? " (reached, but it has not reached this rank)" : "");
  }
  return names;
}

}  // namespace collbench
