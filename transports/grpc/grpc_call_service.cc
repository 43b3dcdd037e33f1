// The server's side of calls over gRPC.
#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include <grpcpp/impl/method_handler_impl.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include "transports/grpc/control.h"
#include "transports/grpc/grpc_calls.h"
#include "transports/grpc/handshake.h"
#include "transports/grpc/server.h"

namespace collbench {
namespace {

class CallStreams final : public GrpcCallService, private grpc::Service {
 public:
  CallStreams(GrpcServer& server, CallHandlers handlers)
      : server_(server), self_{-1, 1, server.token()}, handlers_(std::move(handlers)) {
    using Handler =
        grpc::internal::BidiStreamingHandler<CallStreams, grpc::ByteBuffer, grpc::ByteBuffer>;
    const auto run = [](CallStreams* self, grpc::ServerContext* context, Stream* stream) {
      return self->serve(*context, *stream);
    };
    AddMethod(new grpc::internal::RpcServiceMethod(
        grpc_names::calls, grpc::internal::RpcMethod::BIDI_STREAMING, new Handler(run, this)));
  }

  grpc::Service& service() override { return *this; }

  void end() override {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (grpc::ServerContext* context : waiting_) context->TryCancel();
  }

 private:
  using Stream = grpc::ServerReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;

  grpc::Status serve(grpc::ServerContext& context, Stream& stream) {
    const GrpcHandshake handshake(context, grpc_names::calls, grpc_names::calls, self_);
    if (grpc::Status verdict = handshake.verdict(); !verdict.ok()) return verdict;
    stream.SendInitialMetadata();
    grpc::ByteBuffer message;
    if (!next(context, stream, message)) return grpc::Status::OK;
    if (grpc::Status verdict = handshake.verdict_on(message); !verdict.ok()) return verdict;
    server_.guard().prove(context.peer());
    const grpc::Slice welcome(write_control({GrpcControl::Kind::welcome, "", {}}));
    stream.Write(grpc::ByteBuffer(&welcome, 1));
    const CallerNumber caller = ++callers_;
    const auto abandoned = [&] { return ending_ || context.IsCancelled(); };
    while (next(context, stream, message)) {
      const std::string request = text_of(message);
      message.Clear();
      stream.Write(answer_to({request, abandoned, caller}));
    }
    handlers_.gone(caller);
    return grpc::Status::OK;
  }

  /// Waits for a message of the caller; false if there will be none.
  bool next(grpc::ServerContext& context, Stream& stream, grpc::ByteBuffer& message) {
    {
      const std::lock_guard lock(mutex_);
      if (ending_) return false;
      waiting_.insert(&context);
    }
    const bool there = stream.Read(&message);
    const std::lock_guard lock(mutex_);
    waiting_.erase(&context);
    return there;
  }

  grpc::ByteBuffer answer_to(const IncomingCall& call) {
    std::string text;
    const char* mark = grpc_names::answer;
    try {
      text = handlers_.answer(call);
    } catch (const std::exception& error) {
      text = error.what();
      mark = grpc_names::refusal;
    }
    const grpc::Slice slices[] = {text, grpc::Slice(mark)};
    return {slices, 2};
  }

  GrpcServer& server_;
  const GrpcSelf self_;
  const CallHandlers handlers_;
  std::atomic<CallerNumber> callers_{0};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::set<grpc::ServerContext*> waiting_;  // for a message
};

}  // namespace

std::unique_ptr<GrpcCallService> make_grpc_call_service(GrpcServer& server, CallHandlers handlers) {
  return std::make_unique<CallStreams>(server, std::move(handlers));
}

}  // namespace collbench
