// The endpoint that moves data as TensorFlow does: the receiver asks for each buffer by a call.
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include "grpc_recvbuf.grpc.pb.h"

#include "core/error.h"
#include "transports/grpc/polled_endpoint.h"
#include "transports/grpc/recvbuf_coding.h"

namespace collbench {

namespace {

using recvbuf::RecvBufRequest;
using recvbuf::RecvBufResponse;
using recvbuf::RecvBufService;

// How many buffers a caller may request before they are sent.
constexpr std::uint64_t most_ahead = 1 << 16;

class RecvBufEndpoint final : public PolledEndpoint {
 public:
  explicit RecvBufEndpoint(const GrpcOptions& options);
  ~RecvBufEndpoint() override {
    wire_->stop();
    served_.clear();  // calls go before the server that they came to
    called_.clear();
    taken_.clear();
  }

  Ticket send(Rank to, Region from) override;

 private:
  // A call that a peer makes here, answered once the buffer it asks for is sent.
  struct Served {
    explicit Served(RecvBufEndpoint& endpoint)
        : requested([this, &endpoint](bool ok) { endpoint.on_requested(*this, ok); }),
          finished([this](bool) { finish(); }) {}
    void finish() {
      over = true;
      if (answering != nullptr) answering->slices->drop();
    }
    grpc::ServerContext context;
    RecvBufRequest request;
    grpc::ServerAsyncResponseWriter<RecvBufResponse> writer{&context};
    Sending* answering = nullptr;
    bool over = false;
    GrpcTag requested;
    GrpcTag finished;
  };
  // A call that this rank makes. Responses may overtake each other; the intake wants their order.
  struct Called {
    Called(RecvBufEndpoint& endpoint, Rank peer, Bytes bytes, bool is_fold)
        : from(peer), size(bytes), fold(is_fold), replied([this, &endpoint](bool) {
            complete = true;
            endpoint.take_in_order(from);
          }) {}
    const Rank from;
    const Bytes size;
    const bool fold;
    bool complete = false;
    grpc::ClientContext context;
    RecvBufResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<RecvBufResponse>> reader;
    GrpcTag replied;
  };
  struct Offer {
    Region region;
    Sending* sending;
  };

  void serve_next();
  void on_requested(Served& served, bool ok);
  void answer(Served& served, const Offer& offer);
  void expect(Rank from, Bytes size, bool fold) override;
  bool has_ended(Rank /*peer*/) const override { return false; }  // calls may be answered late
  void take_in_order(Rank from);
  void take(const Called& called);
  void received(Rank, std::span<const std::span<const std::byte>>,
                const std::shared_ptr<const void>&) override {}  // nothing comes over the streams

  RecvBufService::AsyncService service_;
  std::vector<std::unique_ptr<Served>> served_;
  std::map<std::string, Offer> offers_;                      // sent, not yet asked for
  std::map<std::string, Served*> askers_;                    // asked for, not yet sent
  std::vector<std::deque<std::unique_ptr<Called>>> called_;  // per peer, in order
  std::vector<std::unique_ptr<Called>> taken_;
  std::vector<std::uint64_t> sent_, expected_;  // per peer
};

RecvBufEndpoint::RecvBufEndpoint(const GrpcOptions& options)
    : PolledEndpoint(options),
      called_(static_cast<std::size_t>(options.ranks)),
      sent_(static_cast<std::size_t>(options.ranks)),
      expected_(static_cast<std::size_t>(options.ranks)) {
  wire_ = std::make_unique<GrpcWire>(options, static_cast<Client&>(*this), &service_);
  serve_next();
}

void RecvBufEndpoint::serve_next() {
  std::erase_if(served_, [](const auto& served) { return served->over; });
  Served& next = *served_.emplace_back(std::make_unique<Served>(*this));
  service_.RequestRecvBuf(&next.context, &next.request, &next.writer, &wire_->queue(),
                          &wire_->queue(), next.requested.put());
}

void RecvBufEndpoint::on_requested(Served& served, bool ok) {
  if (!ok || wire_->stopping()) {
    if (ok) served.context.TryCancel();
    served.over = true;
    return;
  }
  serve_next();
  const Rank caller = wire_->rank_behind(served.context.peer());
  const std::optional<recvbuf::Key> key = recvbuf::read_key(served.request.buf_rendezvous_key());
  if (caller < 0 || !key || key->from != rank() || key->to != caller ||
      key->k >= sent_[static_cast<std::size_t>(caller)] + most_ahead) {
    served.writer.FinishWithError(
        {grpc::StatusCode::PERMISSION_DENIED, "there is no such buffer for this caller"},
        served.finished.put());
    return;
  }
  const auto offer = offers_.find(served.request.buf_rendezvous_key());
  if (offer == offers_.end()) {
    askers_[served.request.buf_rendezvous_key()] = &served;
    return;
  }
  answer(served, offer->second);
  offers_.erase(offer);
}

// The send is complete once the response has been written, so that its sender may end.
void RecvBufEndpoint::answer(Served& served, const Offer& offer) {
  served.answering = offer.sending;
  const Region& region = offer.region;
  if (region.size().count != served.request.num_bytes()) {
    const std::string what = "rank " + std::to_string(rank()) + " sends " +
                             std::to_string(region.size().count) + " bytes as buffer " +
                             served.request.buf_rendezvous_key() + " where " +
                             std::to_string(served.request.num_bytes()) + " are received";
    served.writer.FinishWithError({grpc::StatusCode::INVALID_ARGUMENT, what},
                                  served.finished.put());
    return;
  }
  RecvBufResponse response;
  recvbuf::encode({region.data, static_cast<std::size_t>(region.size().count)}, response);
  served.writer.Finish(response, grpc::Status::OK, served.finished.put());
}

Endpoint::Ticket RecvBufEndpoint::send(Rank to, Region from) {
  if (from.count == 0) return 0;
  recvbuf::require_buffer(from.size());
  check_peer(to);
  wire_->to(to);
  Ticket ticket = 0;
  Sending& sending = start_sending(to, from.size(), ticket);
  sending.slices->add();  // until the response has been written
  const std::string key = recvbuf::key_text({rank(), to, sent_[static_cast<std::size_t>(to)]++});
  const Offer offer{from, &sending};
  const auto asker = askers_.find(key);
  if (asker == askers_.end()) {
    offers_.emplace(key, offer);
  } else {
    answer(*asker->second, offer);
    askers_.erase(asker);
  }
  return ticket;
}

void RecvBufEndpoint::expect(Rank from, Bytes size, bool fold) {
  const auto peer = static_cast<std::size_t>(from);
  // Calls are authenticated by their connection, so the stream must have been accepted first.
  wire_->await_open(from);
  taken_.clear();
  Called& called = *called_[peer].emplace_back(std::make_unique<Called>(*this, from, size, fold));
  RecvBufRequest request;
  request.set_buf_rendezvous_key(recvbuf::key_text({from, rank(), expected_[peer]++}));
  request.set_num_bytes(size.count);
  const std::shared_ptr<grpc::ChannelInterface> channel = wire_->channel(from);
  const auto stub = RecvBufService::NewStub(channel);
  called.reader = stub->AsyncRecvBuf(&called.context, request, &wire_->queue());
  called.reader->Finish(&called.response, &called.status, called.replied.put());
}

void RecvBufEndpoint::take_in_order(Rank from) {
  auto& line = called_[static_cast<std::size_t>(from)];
  while (!line.empty() && line.front()->complete) {
    // One of them is what called this: it may go only later.
    taken_.push_back(std::move(line.front()));
    line.pop_front();
    take(*taken_.back());
  }
}

void RecvBufEndpoint::take(const Called& called) {
  if (!called.status.ok()) {
    const std::string name = "rank " + std::to_string(called.from);
    const bool broken = called.status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                        called.status.error_code() == grpc::StatusCode::CANCELLED;
    wire_->suspect(name + (broken ? " was lost: " : " refused: ") + called.status.error_message(),
                   !broken);
    return;
  }
  const auto pieces = std::make_shared<std::vector<std::string>>(recvbuf::decode(called.response));
  std::size_t size = 0;
  for (const std::string& piece : *pieces) size += piece.size();
  if (std::cmp_not_equal(size, called.size.count)) {
    wire_->suspect("rank " + std::to_string(called.from) + " answered " + std::to_string(size) +
                       " bytes instead of " + std::to_string(called.size.count),
                   true);
    return;
  }
  ByteQueue& queue = intake_.queue(called.from);
  if (!called.fold) {
    for (const std::string& piece : *pieces) queue.push(std::as_bytes(std::span(piece)), pieces);
    return;
  }
  // A reduction reads from a temporary buffer, as wide as the chunk.
  const auto buffer = std::make_shared<std::vector<std::byte>>(size);
  std::size_t at = 0;
  for (const std::string& piece : *pieces) {
    std::memcpy(buffer->data() + at, piece.data(), piece.size());
    at += piece.size();
  }
  queue.push(*buffer, buffer);
}

}  // namespace

std::unique_ptr<GrpcEndpoint> make_tf_recvbuf_endpoint(const GrpcOptions& options) {
  return std::make_unique<RecvBufEndpoint>(options);
}

}  // namespace collbench
