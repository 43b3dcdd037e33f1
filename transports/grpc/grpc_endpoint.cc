#include "transports/grpc/grpc_endpoint.h"

#include <algorithm>

#include "transports/grpc/polled_endpoint.h"

namespace collbench {

namespace {

// Up to here a send is copied if gRPC takes it at once, which costs less than to wait for gRPC to
// release the memory.
constexpr std::int64_t copied_at_most = 8192;  // bytes

// Pushes elements over the streams of a wire; peers read as far as their windows allow.
class StreamEndpoint final : public PolledEndpoint {
 public:
  explicit StreamEndpoint(const GrpcOptions& options) : PolledEndpoint(options) {
    wire_ = std::make_unique<GrpcWire>(options, static_cast<Client&>(*this));
  }
  ~StreamEndpoint() override { wire_->stop(); }

  Ticket send(Rank to, Region from) override;

 private:
  void received(Rank from, std::span<const std::span<const std::byte>> pieces,
                const std::shared_ptr<const void>& keeper) override;
  void expect(Rank from, Bytes /*size*/, bool /*fold*/) override { wire_->reach(from); }
  void made_room() override;

  std::vector<Rank> paused_;  // peers that are not read, for their window is full
};

Endpoint::Ticket StreamEndpoint::send(Rank to, Region from) {
  const std::span<const std::byte> bytes(from.data, static_cast<std::size_t>(from.size().count));
  if (bytes.empty()) return 0;
  check_peer(to);
  OutgoingStream& stream = wire_->to(to);
  if (std::ssize(bytes) <= copied_at_most && stream.sends_at_once()) {
    stream.send_copy(bytes);
    return 0;
  }
  Ticket ticket = 0;
  stream.send(bytes, *start_sending(to, from.size(), ticket).slices);
  return ticket;
}

void StreamEndpoint::received(Rank from, std::span<const std::span<const std::byte>> pieces,
                              const std::shared_ptr<const void>& keeper) {
  ByteQueue& queue = intake_.queue(from);
  for (const auto& piece : pieces) queue.push(piece, keeper);
  if (queue.size() < options_.window.count) {
    wire_->read(from);
  } else {
    paused_.push_back(from);
  }
}

void StreamEndpoint::made_room() {
  std::erase_if(paused_, [this](Rank from) {
    if (intake_.queue(from).size() >= options_.window.count) return false;
    wire_->read(from);
    return true;
  });
}

}  // namespace

std::unique_ptr<GrpcEndpoint> make_grpc_endpoint(const GrpcOptions& options) {
  return std::make_unique<StreamEndpoint>(options);
}

}  // namespace collbench
