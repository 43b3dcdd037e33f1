// The server's side of calls over gRPC.
//
// Streams are served by gRPC's callbacks, so a stranger's stream costs no thread however many it
// opens; a caller that has proved to know the token gets one, in which handlers may wait.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include "transports/grpc/control.h"
#include "transports/grpc/grpc_calls.h"
#include "transports/grpc/handshake.h"
#include "transports/grpc/server.h"

namespace collbench {
namespace {

class CallStream;

class CallStreams final : public GrpcCallService, private grpc::Service {
 public:
  CallStreams(GrpcServer& server, CallHandlers handlers);
  ~CallStreams() override;
  grpc::Service& service() override { return *this; }
  void end() override;

  GrpcSelf self() const { return {-1, 1, server_.token()}; }
  bool ending() const { return ending_; }
  CallerNumber admit(const std::string& connection) {
    server_.guard().prove(connection);
    return ++callers_;
  }
  const CallHandlers& handlers() const { return handlers_; }
  /// Streams whose callers have proved themselves; end() wakes them.
  void add(CallStream* stream);
  void remove(CallStream* stream);

 private:
  GrpcServer& server_;
  const CallHandlers handlers_;
  std::atomic<CallerNumber> callers_{0};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<CallStream*> proved_;
};

/// One stream of a caller. gRPC calls On...(), and last OnDone(), after which it is gone.
class CallStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  CallStream(CallStreams& all, grpc::CallbackServerContext& context)
      : all_(all),
        context_(context),
        handshake_(context, grpc_names::calls, grpc_names::calls, all.self()) {
    if (grpc::Status verdict = handshake_.verdict(); !verdict.ok()) {
      Finish(verdict);
      return;
    }
    StartSendInitialMetadata();
    StartRead(&message_);
  }

  void OnReadDone(bool ok) override {
    if (proved_) return note(read_, ok);
    const grpc::Status verdict = ok ? handshake_.verdict_on(message_) : grpc::Status::OK;
    if (!ok || !verdict.ok()) {
      Finish(verdict);
      return;
    }
    proved_ = true;
    all_.add(this);
    std::thread([this, caller = all_.admit(context_.peer())] { serve(caller); }).detach();
  }
  void OnWriteDone(bool ok) override { note(written_, ok); }
  void OnDone() override { delete this; }

  /// Wakes its thread, which then ends.
  void wake() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  enum class Step { open, done, failed };

  void note(Step& step, bool ok) {
    const std::lock_guard lock(mutex_);
    step = ok ? Step::done : Step::failed;
    changed_.notify_all();
  }

  /// Whether the step was done; false also if the server ends meanwhile.
  bool wait_for(Step& step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return step != Step::open || all_.ending(); });
    return std::exchange(step, Step::open) == Step::done;
  }

  bool write(const grpc::ByteBuffer& answer) {
    answer_ = answer;  // to be kept until it is sent
    StartWrite(&answer_);
    return wait_for(written_);
  }

  void serve(CallerNumber caller) {
    const grpc::Slice welcome(write_control({GrpcControl::Kind::welcome, "", {}}));
    const auto abandoned = [&] { return all_.ending() || context_.IsCancelled(); };
    for (bool open = write({&welcome, 1}); open;) {
      StartRead(&message_);
      if (!wait_for(read_)) break;
      const std::string request = text_of(message_);
      message_.Clear();
      open = write(answer_to({request, abandoned, caller}));
    }
    all_.handlers().gone(caller);
    all_.remove(this);
    Finish(grpc::Status::OK);  // this is gone afterwards
  }

  grpc::ByteBuffer answer_to(const IncomingCall& call) {
    std::string text;
    const char* mark = grpc_names::answer;
    try {
      text = all_.handlers().answer(call);
    } catch (const std::exception& error) {
      text = error.what();
      mark = grpc_names::refusal;
    }
    const grpc::Slice slices[] = {text, grpc::Slice(mark)};
    return {slices, 2};
  }

  CallStreams& all_;
  grpc::CallbackServerContext& context_;
  const GrpcHandshake handshake_;
  grpc::ByteBuffer message_;
  grpc::ByteBuffer answer_;
  std::atomic<bool> proved_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  Step read_ = Step::open;
  Step written_ = Step::open;
};

CallStreams::CallStreams(GrpcServer& server, CallHandlers handlers)
    : server_(server), handlers_(std::move(handlers)) {
  using Handler = grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>;
  AddMethod(new grpc::internal::RpcServiceMethod(
      grpc_names::calls, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodCallback(0, new Handler([this](grpc::CallbackServerContext* context) {
                       return new CallStream(*this, *context);
                     }));
}

CallStreams::~CallStreams() { end(); }

void CallStreams::end() {
  ending_ = true;
  std::unique_lock lock(mutex_);
  for (CallStream* stream : proved_) stream->wake();
  changed_.wait(lock, [&] { return proved_.empty(); });
}

void CallStreams::add(CallStream* stream) {
  const std::lock_guard lock(mutex_);
  proved_.insert(stream);
}

void CallStreams::remove(CallStream* stream) {
  const std::lock_guard lock(mutex_);
  proved_.erase(stream);
  changed_.notify_all();
}

}  // namespace

std::unique_ptr<GrpcCallService> make_grpc_call_service(GrpcServer& server, CallHandlers handlers) {
  return std::make_unique<CallStreams>(server, std::move(handlers));
}

}  // namespace collbench
