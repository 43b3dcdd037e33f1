#include <charconv>
#include <deque>
#include <vector>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/support/byte_buffer.h>

#include "transports/grpc_stream.h"

namespace collbench {

namespace {

std::string metadata(const grpc::ServerContext& context, const char* name) {
  const auto found = context.client_metadata().find(name);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

int number(const std::string& text) {
  int value = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? value : -1;
}

}  // namespace

struct IncomingStream::Call {
  Call(IncomingStream& stream_owner, StreamEvents& listener)
      : owner(stream_owner), events(listener) {}

  IncomingStream& owner;
  StreamEvents& events;
  Rank from = -1;
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  grpc::ByteBuffer message;
  std::vector<std::span<const std::byte>> pieces;
  std::deque<std::string> controls;
  bool is_accepted = false;
  bool is_ended = false;
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
    std::string unfit;
    const std::string version = metadata(context, grpc_names::version);
    if (context.method() != grpc_names::method) {
      unfit = "there is no method " + context.method();
    } else if (version != grpc_names::protocol) {
      unfit = "it speaks protocol " + std::string(grpc_names::protocol) + ", not '" + version + "'";
    }
    const GrpcIdentity who{number(metadata(context, grpc_names::rank)),
                           number(metadata(context, grpc_names::ranks)),
                           metadata(context, grpc_names::job)};
    events.arrived(owner, who, unfit);
  }

  void on_read(bool ok) {
    if (!ok) {
      if (!is_stopped) finish(grpc::Status::OK);
      return;
    }
    const auto slices = std::make_shared<std::vector<grpc::Slice>>();
    message.Dump(slices.get());
    message.Clear();
    pieces.clear();
    for (const grpc::Slice& slice : *slices) {
      pieces.emplace_back(reinterpret_cast<const std::byte*>(slice.begin()), slice.size());
    }
    events.received(from, pieces, slices);
  }

  void on_done() {
    const bool was_accepted = is_accepted;
    is_ended = true;
    if (!was_accepted) return;
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

  void write_next() {
    if (controls.empty() || wrote.pending() || opened.pending() || is_finishing || is_ended ||
        is_stopped) {
      return;
    }
    const grpc::Slice text(controls.front());
    controls.pop_front();
    stream.Write(grpc::ByteBuffer(&text, 1), wrote.put());
  }
};

IncomingStream::IncomingStream(grpc::AsyncGenericService& service,
                               grpc::ServerCompletionQueue& queue, StreamEvents& events)
    : call_(std::make_unique<Call>(*this, events)) {
  call_->context.AsyncNotifyWhenDone(call_->done.put());
  service.RequestCall(&call_->context, &call_->stream, &queue, &queue, call_->requested.put());
}

IncomingStream::~IncomingStream() = default;

void IncomingStream::accept(Rank from) {
  call_->from = from;
  call_->is_accepted = true;
  call_->context.AddInitialMetadata(grpc_names::version, grpc_names::protocol);
  call_->stream.SendInitialMetadata(call_->opened.put());
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

void IncomingStream::close() { call_->finish(grpc::Status::OK); }

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
