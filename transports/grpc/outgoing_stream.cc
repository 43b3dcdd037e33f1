#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include "core/keyed_digest.h"
#include "transports/grpc/control.h"
#include "transports/grpc/handover.h"
#include "transports/grpc/handshake.h"
#include "transports/grpc/preamble.h"
#include "transports/grpc/stream.h"

namespace collbench {

namespace {

// Part of a send that has not been handed to gRPC: the caller's memory, or a copy of it.
struct Unsent {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  SliceCount* slices = nullptr;
  grpc::Slice copied;
};

void drop_slice(void* slices) {
  take_from_grpc(slices);
  static_cast<SliceCount*>(slices)->drop();
}

std::string value_of(const grpc::ClientContext& context, const char* name) {
  const auto& metadata = context.GetServerInitialMetadata();
  const auto found = metadata.find(name);
  if (found == metadata.end()) return {};
  return {found->second.data(), found->second.size()};
}

StreamEnd end_of(const grpc::Status& status, bool is_known, bool was_open) {
  using Kind = StreamEnd::Kind;
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return {Kind::closed, ""};
    case grpc::StatusCode::ABORTED:
      return {Kind::aborted, status.error_message()};
    case grpc::StatusCode::FAILED_PRECONDITION:
      return {is_known ? Kind::refused : Kind::foreign, status.error_message()};
    case grpc::StatusCode::UNAVAILABLE:
      if (status.error_message().find(preamble_names::refused_in_grpc) != std::string::npos) {
        return {Kind::foreign, of_another_run};
      }
      [[fallthrough]];
    case grpc::StatusCode::CANCELLED:
      return {was_open ? Kind::lost : Kind::unreachable, status.error_message()};
    default:
      return {was_open ? Kind::lost : Kind::refused, status.error_message()};
  }
}

}  // namespace

struct OutgoingStream::Call {
  Call(Rank peer, const GrpcSelf& caller, std::int64_t piece_bytes, OutgoingEvents& listener)
      : to(peer),
        self(caller),
        identity{caller.rank, caller.ranks, random_digits()},
        piece(piece_bytes),
        events(listener) {}

  const Rank to;
  const GrpcSelf& self;
  const GrpcIdentity identity;
  const std::int64_t piece;
  OutgoingEvents& events;
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
  grpc::ByteBuffer control;
  grpc::Status status;
  std::deque<Unsent> unsent;
  std::vector<grpc::Slice> slices;
  std::int64_t handed = 0;
  bool is_open = false;  // it may send: the peer has said that it accepts
  bool is_ended = false;
  bool closing = false;
  bool is_known = false;     // the peer has proved to know the token
  bool is_stranger = false;  // it does not know it

  GrpcTag started{[this](bool ok) { on_started(ok); }};
  GrpcTag opened{[this](bool ok) { on_opened(ok); }};
  GrpcTag wrote{[this](bool) { write_next(); }};
  GrpcTag closed{[](bool) {}};
  GrpcTag read{[this](bool ok) { on_control(ok); }};
  GrpcTag finished{[this](bool) { on_finished(); }};

  void on_started(bool ok) {
    if (ok) {
      stream->ReadInitialMetadata(opened.put());
    } else {
      stream->Finish(&status, finished.put());
    }
  }

  void on_opened(bool ok) {
    // Asked for now, the status comes out as soon as the stream ends, whatever else goes on.
    stream->Finish(&status, finished.put());
    // One that refuses sends no such mark, only the status.
    if (!ok || !context.GetServerInitialMetadata().contains(grpc_names::version)) return;
    const std::string number = value_of(context, grpc_names::number);
    const std::string expected = listener_proof(self.token, identity, to, number);
    if (!same_secret(value_of(context, grpc_names::proof), expected)) {
      is_stranger = true;
      context.TryCancel();
      return;
    }
    is_known = true;
    const grpc::Slice proof(caller_proof(self.token, identity, to, number));
    stream->Write(grpc::ByteBuffer(&proof, 1), wrote.put());
    stream->Read(&control, read.put());
  }

  void on_control(bool ok) {
    if (!ok) return;
    std::string text = text_of(control);
    stream->Read(&control, read.put());
    if (is_open) {
      events.control(to, std::move(text));
    } else if (read_control(text, self.ranks).kind == GrpcControl::Kind::welcome) {
      is_open = true;
      events.opened(to);
      write_next();
    }
  }

  void on_finished() {
    is_ended = true;
    if (is_open) drop_unsent();  // otherwise another stream may take it over
    events.outgoing_ended(to, is_stranger ? StreamEnd{StreamEnd::Kind::foreign, of_another_run}
                                          : end_of(status, is_known, is_open));
  }

  void drop_unsent() {
    for (const Unsent& part : unsent) {
      if (part.slices != nullptr) part.slices->drop();
    }
    unsent.clear();
  }

  // Gathers up to one piece of what is unsent: several short sends travel as one message.
  void write_next() {
    if (wrote.pending() || is_ended || !is_open) return;
    if (unsent.empty()) {
      if (closing && !closed.pending()) stream->WritesDone(closed.put());
      return;
    }
    slices.clear();
    std::int64_t room = piece;
    while (!unsent.empty() && room > 0) {
      Unsent& part = unsent.front();
      // A copy travels whole; it is short.
      const std::int64_t n = part.slices == nullptr ? part.bytes : std::min(room, part.bytes);
      room -= n;
      handed += n;
      if (part.slices == nullptr) {
        slices.push_back(std::move(part.copied));
      } else {
        part.slices->add();
        hand_to_grpc(part.slices);
        slices.emplace_back(const_cast<std::byte*>(part.data), static_cast<std::size_t>(n),
                            drop_slice, part.slices);
        part.data += n;
      }
      part.bytes -= n;
      if (part.bytes > 0) continue;
      if (part.slices != nullptr) part.slices->drop();
      unsent.pop_front();
    }
    const grpc::ByteBuffer message(slices.data(), slices.size());
    slices.clear();
    stream->Write(message, wrote.put());
  }
};

OutgoingStream::OutgoingStream(const std::shared_ptr<grpc::Channel>& channel,
                               grpc::CompletionQueue& queue, const char* method, Rank to,
                               const GrpcSelf& self, std::int64_t piece, OutgoingEvents& events)
    : call_(std::make_unique<Call>(to, self, piece, events)) {
  call_->context.AddMetadata(grpc_names::version, grpc_names::protocol);
  call_->context.AddMetadata(grpc_names::rank, std::to_string(self.rank));
  call_->context.AddMetadata(grpc_names::ranks, std::to_string(self.ranks));
  if (!self.transport.empty()) {
    call_->context.AddMetadata(grpc_names::transport, self.transport);
  }
  call_->context.AddMetadata(grpc_names::number, call_->identity.number);
  grpc::GenericStub stub(channel);
  call_->stream = stub.PrepareCall(&call_->context, method, &queue);
  call_->stream->StartCall(call_->started.put());
}

OutgoingStream::~OutgoingStream() = default;

void OutgoingStream::send(std::span<const std::byte> bytes, SliceCount& slices) {
  slices.add();  // until the last part of it has become a slice
  call_->unsent.push_back({bytes.data(), static_cast<std::int64_t>(bytes.size()), &slices, {}});
  call_->write_next();
}

bool OutgoingStream::sends_at_once() const {
  return call_->is_open && call_->unsent.empty() && !call_->wrote.pending();
}

void OutgoingStream::send_copy(std::span<const std::byte> bytes) {
  call_->unsent.push_back({nullptr, static_cast<std::int64_t>(bytes.size()), nullptr,
                           grpc::Slice(bytes.data(), bytes.size())});
  call_->write_next();
}

void OutgoingStream::take_unsent(OutgoingStream& earlier) {
  call_->unsent = std::exchange(earlier.call_->unsent, {});
}

bool OutgoingStream::has_unsent() const { return !call_->unsent.empty(); }
std::int64_t OutgoingStream::handed() const { return call_->handed; }

void OutgoingStream::close() {
  if (call_->closing) return;
  call_->closing = true;
  if (!call_->is_open && call_->unsent.empty()) call_->context.TryCancel();
  call_->write_next();
}

void OutgoingStream::cancel() {
  call_->drop_unsent();
  call_->context.TryCancel();
}

bool OutgoingStream::open() const { return call_->is_open; }
bool OutgoingStream::ended() const { return call_->is_ended; }

bool OutgoingStream::idle() const {
  return !call_->started.pending() && !call_->opened.pending() && !call_->wrote.pending() &&
         !call_->closed.pending() && !call_->read.pending() && !call_->finished.pending();
}

}  // namespace collbench
