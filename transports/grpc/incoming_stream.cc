#include <deque>
#include <optional>
#include <vector>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include "transports/grpc/control.h"
#include "transports/grpc/handshake.h"
#include "transports/grpc/stream.h"

namespace collbench {

struct IncomingStream::Call {
  enum class State { waiting, greeting, proved, accepted };

  Call(IncomingStream& stream_owner, const GrpcSelf& listener_self, IncomingEvents& listener)
      : owner(stream_owner), self(listener_self), events(listener) {}

  IncomingStream& owner;
  const GrpcSelf& self;
  IncomingEvents& events;
  std::optional<GrpcHandshake> handshake;
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  grpc::ByteBuffer message;
  std::vector<std::span<const std::byte>> pieces;
  std::deque<std::string> controls;
  State state = State::waiting;
  bool is_ended = false;
  bool is_closing = false;  // to be finished once all control messages have gone
  bool is_finishing = false;
  bool is_stopped = false;

  GrpcTag requested{[this](bool ok) { on_requested(ok); }};
  GrpcTag opened{[this](bool) { write_next(); }};
  GrpcTag read{[this](bool ok) { on_read(ok); }};
  GrpcTag wrote{[this](bool) { write_next(); }};
  GrpcTag finished{[](bool) {}};
  GrpcTag done{[this](bool) { on_done(); }};

  void on_requested(bool ok) {
    if (!ok) {
      done.run(false);  // gRPC never hands out this tag of a call that did not come
      return;
    }
    if (is_stopped) return;
    handshake.emplace(context, context.method(), grpc_names::exchange, self);
    state = State::greeting;
    if (const grpc::Status verdict = handshake->verdict(); verdict.ok()) {
      stream.SendInitialMetadata(opened.put());
      stream.Read(&message, read.put());
    } else {
      finish(verdict);
    }
    events.called(owner);
  }

  void on_read(bool ok) {
    if (!ok) {
      close();
      return;
    }
    if (state != State::accepted) {
      take_proof();
      return;
    }
    const auto slices = std::make_shared<std::vector<grpc::Slice>>();
    message.Dump(slices.get());
    message.Clear();
    pieces.clear();
    for (const grpc::Slice& slice : *slices) {
      pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    }
    events.received(handshake->identity().rank, pieces, slices);
  }

  void take_proof() {
    if (is_stopped || is_finishing || is_ended) return;
    if (const grpc::Status verdict = handshake->verdict_on(message); verdict.ok()) {
      state = State::proved;
      events.arrived(owner, handshake->identity());
    } else {
      finish(verdict);
    }
  }

  void on_done() {
    is_ended = true;
    if (state == State::greeting) events.went_away(handshake->identity());
    if (state != State::accepted) return;
    const Rank from = handshake->identity().rank;
    if (context.IsCancelled()) {
      events.incoming_ended(from, {StreamEnd::Kind::lost, "its stream broke"});
    } else {
      events.incoming_ended(from, {StreamEnd::Kind::closed, ""});
    }
  }

  void finish(const grpc::Status& status) {
    if (is_finishing || is_ended || is_stopped) return;
    is_finishing = true;
    stream.Finish(status, finished.put());
  }

  void close() {
    is_closing = true;
    write_next();
  }

  void write_next() {
    if (wrote.pending() || opened.pending() || is_finishing || is_ended || is_stopped) return;
    if (controls.empty()) {
      if (is_closing) finish(grpc::Status::OK);
      return;
    }
    const grpc::Slice text(controls.front());
    controls.pop_front();
    stream.Write(grpc::ByteBuffer(&text, 1), wrote.put());
  }
};

IncomingStream::IncomingStream(grpc::AsyncGenericService& service,
                               grpc::ServerCompletionQueue& queue, const GrpcSelf& self,
                               IncomingEvents& events)
    : call_(std::make_unique<Call>(*this, self, events)) {
  call_->context.AsyncNotifyWhenDone(call_->done.put());
  service.RequestCall(&call_->context, &call_->stream, &queue, &queue, call_->requested.put());
}

IncomingStream::~IncomingStream() = default;

std::string IncomingStream::connection() const { return call_->context.peer(); }

void IncomingStream::accept() {
  call_->state = Call::State::accepted;
  write_control(collbench::write_control({GrpcControl::Kind::welcome, "", {}}));
  read();
}

void IncomingStream::refuse(const std::string& reason) {
  call_->finish({grpc::StatusCode::FAILED_PRECONDITION, reason});
}

void IncomingStream::read() {
  const Call& c = *call_;
  if (c.read.pending() || c.is_ended || c.is_finishing || c.is_stopped) return;
  call_->stream.Read(&call_->message, call_->read.put());
}

void IncomingStream::write_control(const std::string& message) {
  call_->controls.push_back(message);
  call_->write_next();
}

void IncomingStream::close() { call_->close(); }

void IncomingStream::abort(const std::string& reason) {
  call_->finish({grpc::StatusCode::ABORTED, reason});
}

void IncomingStream::stop() { call_->is_stopped = true; }

bool IncomingStream::ended() const { return call_->is_ended; }

bool IncomingStream::idle() const {
  return !call_->requested.pending() && !call_->opened.pending() && !call_->read.pending() &&
         !call_->wrote.pending() && !call_->finished.pending() && !call_->done.pending();
}

}  // namespace collbench
