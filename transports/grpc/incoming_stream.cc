#include <deque>
#include <vector>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include "core/keyed_digest.h"
#include "transports/grpc/control.h"
#include "transports/grpc/stream.h"

namespace collbench {

namespace {

std::string metadata(const grpc::ServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

}  // namespace

struct IncomingStream::Call {
  enum class State { waiting, greeting, proved, accepted };

  Call(IncomingStream& stream_owner, const GrpcSelf& listener_self, StreamEvents& listener)
      : owner(stream_owner), self(listener_self), events(listener) {}

  IncomingStream& owner;
  const GrpcSelf& self;
  StreamEvents& events;
  GrpcIdentity who;
  std::string expected_proof;
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
    const GrpcGreeting greeting = read_greeting(
        context.method(), [this](const char* name) { return metadata(context, name); });
    state = State::greeting;
    who = greeting.who;
    if (greeting.unfit.empty()) {
      greet();
    } else {
      finish({grpc::StatusCode::FAILED_PRECONDITION, greeting.unfit});
    }
    events.called(owner);
  }

  // Shows that this rank knows the token, and lets the caller show it.
  void greet() {
    const std::string number = random_digits();
    expected_proof = caller_proof(self.token, who, self.rank, number);
    context.AddInitialMetadata(grpc_names::version, grpc_names::protocol);
    context.AddInitialMetadata(grpc_names::number, number);
    context.AddInitialMetadata(grpc_names::proof,
                               listener_proof(self.token, who, self.rank, number));
    stream.SendInitialMetadata(opened.put());
    stream.Read(&message, read.put());
  }

  void on_read(bool ok) {
    if (!ok) {
      close();
      return;
    }
    const auto slices = std::make_shared<std::vector<grpc::Slice>>();
    message.Dump(slices.get());
    message.Clear();
    pieces.clear();
    for (const grpc::Slice& slice : *slices) {
      pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    }
    if (state == State::accepted) {
      events.received(who.rank, pieces, slices);
    } else {
      take_proof();
    }
  }

  void take_proof() {
    if (is_stopped || is_finishing || is_ended) return;
    std::string proof;
    for (const auto& piece : pieces) {
      if (proof.size() + piece.size() > expected_proof.size()) break;
      proof.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    }
    if (same_secret(proof, expected_proof)) {
      state = State::proved;
      events.arrived(owner, who);
    } else {
      finish({grpc::StatusCode::FAILED_PRECONDITION, "it belongs to another run: its job differs"});
    }
  }

  void on_done() {
    is_ended = true;
    if (state == State::greeting) events.went_away(who);
    if (state != State::accepted) return;
    if (context.IsCancelled()) {
      events.incoming_ended(who.rank, {StreamEnd::Kind::lost, "its stream broke"});
    } else {
      events.incoming_ended(who.rank, {StreamEnd::Kind::closed, ""});
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
                               StreamEvents& events)
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
