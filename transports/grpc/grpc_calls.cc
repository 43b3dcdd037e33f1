#include "transports/grpc/grpc_calls.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/method_handler_impl.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include "core/keyed_digest.h"
#include "transports/grpc/admission.h"
#include "transports/grpc/channel_arguments.h"
#include "transports/grpc/connection_guard.h"
#include "transports/grpc/credentials.h"
#include "transports/grpc/greeting.h"

namespace collbench {
namespace {

constexpr const char* method = "/collbench.Calls/Call";
constexpr const char* greeting = "/collbench.Calls/Greet";
constexpr const char* proving = "/collbench.Calls/Prove";
constexpr const char* count_key = "collbench-count";
constexpr std::size_t number_size = 32;
constexpr std::chrono::milliseconds farewell{200};  // for handlers that answer while we end
constexpr int unproved_connections = 256;           // of callers, workers that begin included
constexpr int calls_at_once = 8;                    // of a connection

/// Both ends probe a silent connection (keepalive) three times per timeout.
std::vector<ChannelArgument> arguments_of(const CallOptions& options) {
  const auto period = static_cast<int>(std::clamp(options.timeout.count() / 3, 0.5, 3600.0) * 1e3);
  std::vector<ChannelArgument> arguments = {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1},
      {GRPC_ARG_HTTP2_BDP_PROBE, 0},
      {GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, std::numeric_limits<int>::max()},
      {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000},
      {GRPC_ARG_KEEPALIVE_TIME_MS, period},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, period},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, period / 2}};
  const std::span<const ChannelArgument> common = common_arguments();
  arguments.insert(arguments.end(), common.begin(), common.end());
  return arguments;
}

std::string text_of(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  text.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

/// A number of a length that sorts as text.
std::string counted(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  return std::string(number_size - digits.size(), '0') + digits;
}

/// A caller is no rank; each of its calls has a number of its own, and so a proof.
GrpcIdentity identity(const std::string& caller, const std::string& count = {}) {
  return {-1, 0, caller + count};
}

std::string metadata_of(const grpc::ServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

class CallService final : public grpc::Service {
 public:
  CallService(std::string token, CallHandler handler, ConnectionGuard& guard)
      : token_(std::move(token)),
        handler_(std::move(handler)),
        guard_(guard),
        number_(random_digits()) {
    add(method, &CallService::call);
    add(greeting, &CallService::greet);
    add(proving, &CallService::prove);
  }

  void end() { ending_ = true; }

 private:
  using Member = grpc::Status (CallService::*)(grpc::ServerContext&, const grpc::ByteBuffer&,
                                               grpc::ByteBuffer&);
  void add(const char* name, Member member) {
    using Handler =
        grpc::internal::RpcMethodHandler<CallService, grpc::ByteBuffer, grpc::ByteBuffer>;
    const auto run = [member](CallService* self, grpc::ServerContext* context,
                              const grpc::ByteBuffer* request, grpc::ByteBuffer* answer) {
      return (self->*member)(*context, *request, *answer);
    };
    AddMethod(new grpc::internal::RpcServiceMethod(name, grpc::internal::RpcMethod::NORMAL_RPC,
                                                   new Handler(run, this)));
  }

  grpc::Status greet(grpc::ServerContext& context, const grpc::ByteBuffer&,
                     grpc::ByteBuffer& answer) {
    const std::string caller = metadata_of(context, grpc_names::number);
    if (caller.size() != number_size) return stranger();
    const grpc::Slice slice(number_ + listener_proof(token_, identity(caller), -1, number_));
    answer = grpc::ByteBuffer(&slice, 1);
    return grpc::Status::OK;
  }

  grpc::Status prove(grpc::ServerContext& context, const grpc::ByteBuffer&,
                     grpc::ByteBuffer& answer) {
    if (!proved(context)) return stranger();
    guard_.prove(context.peer());
    const grpc::Slice nothing;
    answer = grpc::ByteBuffer(&nothing, 1);
    return grpc::Status::OK;
  }

  grpc::Status call(grpc::ServerContext& context, const grpc::ByteBuffer& request,
                    grpc::ByteBuffer& answer) {
    if (!proved(context)) return stranger();
    try {
      const std::string text = text_of(request);
      const std::string reply =
          handler_({text, [&] { return ending_.load() || context.IsCancelled(); }});
      const grpc::Slice slice(reply);
      answer = grpc::ByteBuffer(&slice, 1);
      return grpc::Status::OK;
    } catch (const std::exception& error) {
      return {grpc::StatusCode::FAILED_PRECONDITION, error.what()};
    }
  }

  bool proved(const grpc::ServerContext& context) {
    if (token_.empty()) return true;
    const std::string caller = metadata_of(context, grpc_names::number);
    const std::string count = metadata_of(context, count_key);
    if (caller.size() != number_size || count.size() != number_size) return false;
    if (!same_secret(caller_proof(token_, identity(caller, count), -1, number_),
                     metadata_of(context, grpc_names::proof))) {
      return false;
    }
    const std::lock_guard lock(mutex_);
    std::string& last = counts_[caller];
    if (count <= last) return false;  // seen before
    last = count;
    return true;
  }

  static grpc::Status stranger() {
    return {grpc::StatusCode::UNAUTHENTICATED, "it belongs to another run: the token differs"};
  }

  std::string token_;
  CallHandler handler_;
  ConnectionGuard& guard_;
  std::string number_;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::map<std::string, std::string> counts_;  // the last of each caller
};

class GrpcCallServer final : public CallServer {
 public:
  GrpcCallServer(const CallOptions& options, const std::string& address, CallHandler handler)
      : guard_(address, unproved_connections),
        service_(options.security.token, std::move(handler), guard_) {
    grpc::ServerBuilder builder;
    for (const auto& [name, value] : arguments_of(options)) builder.AddChannelArgument(name, value);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, grpc_handshake_ms);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, calls_at_once);
    auto admit = admission_to(builder, server_credentials(options.security));
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw TransportError("grpc: the server of calls cannot start");
    guard_.always_polled();
    guard_.open(std::move(admit));
    address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(guard_.port());
  }
  ~GrpcCallServer() override {
    guard_.close();
    service_.end();
    server_->Shutdown(std::chrono::system_clock::now() + farewell);
    server_->Wait();
  }
  std::string address() const override { return address_; }

 private:
  ConnectionGuard guard_;
  CallService service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

CallError failure_of(const std::string& name, const grpc::Status& status) {
  const std::string words = status.error_message();
  switch (status.error_code()) {
    case grpc::StatusCode::FAILED_PRECONDITION:
      return {CallFailure::refused, words};
    case grpc::StatusCode::UNAUTHENTICATED:
      return {CallFailure::refused, name + " refuses this process: " + words};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {CallFailure::late, name + " does not answer"};
    case grpc::StatusCode::CANCELLED:
      return {CallFailure::cancelled, "the call to " + name + " was cancelled"};
    default:
      return {CallFailure::absent, name + " is not there: " + words};
  }
}

class GrpcCaller final : public Caller {
 public:
  GrpcCaller(const CallOptions& options, std::string name, const std::string& address)
      : name_(std::move(name)), token_(options.security.token), number_(random_digits()) {
    grpc::ChannelArguments arguments;
    for (const auto& [key, value] : arguments_of(options)) arguments.SetInt(key, value);
    add_security(options.security, arguments);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(address, channel_credentials(options.security), arguments));
  }
  ~GrpcCaller() override {
    cancel();
    if (reader_ != nullptr) take();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) continue;
  }

  void start(std::span<const std::span<const std::byte>> pieces, Seconds patience) override {
    std::vector<grpc::Slice> slices;
    for (const auto& piece : pieces) slices.emplace_back(piece.data(), piece.size());  // copies
    request_ = grpc::ByteBuffer(slices.data(), slices.size());
    patience_ = patience;
    if (is_known_) {
      send_proved(method, request_);
    } else if (token_.empty()) {
      send_proved(proving, {});
    } else {
      send(greeting, {});
    }
  }

  std::string finish() override {
    take();
    if (!is_known_ && status_.ok()) introduce();
    // A new listener at this address has not seen this caller's handshake.
    const bool answered =
        status_.ok() || status_.error_code() == grpc::StatusCode::FAILED_PRECONDITION;
    is_known_ = is_known_ && answered;
    if (!status_.ok()) throw failure_of(name_, status_);
    return text_of(answer_);
  }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }

 private:
  // Continues after the handshake, or without a token after the proof: only an authenticated
  // connection may carry much data.
  void introduce() {
    if (!token_.empty()) {
      require_listener(text_of(answer_));
      send_proved(proving, {});
      take();
      if (!status_.ok()) return;
    }
    is_known_ = true;
    send_proved(method, request_);
    take();
  }

  void send_proved(const char* call, const grpc::ByteBuffer& request) {
    std::vector<std::pair<const char*, std::string>> proof;
    if (!token_.empty()) {
      const std::string count = counted(++count_);
      proof = {{count_key, count},
               {grpc_names::proof, caller_proof(token_, identity(number_, count), -1, listener_)}};
    }
    send(call, request, proof);
  }

  void send(const char* call, const grpc::ByteBuffer& request,
            const std::vector<std::pair<const char*, std::string>>& proof = {}) {
    {
      const std::lock_guard lock(mutex_);
      context_ = std::make_unique<grpc::ClientContext>();
      if (cancelled_) context_->TryCancel();
    }
    context_->AddMetadata(grpc_names::number, number_);
    for (const auto& [key, value] : proof) context_->AddMetadata(key, value);
    if (patience_.count() > 0) {
      context_->set_deadline(
          std::chrono::system_clock::now() +
          std::chrono::duration_cast<std::chrono::system_clock::duration>(patience_));
    }
    reader_ = stub_->PrepareUnaryCall(context_.get(), call, request, &queue_);
    reader_->StartCall();
    reader_->Finish(&answer_, &status_, this);
  }

  void require_listener(const std::string& answer) {
    const std::string listener = answer.substr(0, number_size);
    const std::string proof = answer.substr(listener.size());
    if (!same_secret(listener_proof(token_, identity(number_), -1, listener), proof)) {
      throw CallError(CallFailure::refused, name_ + " belongs to another run: the token differs");
    }
    listener_ = listener;
  }

  void take() {
    void* tag = nullptr;
    bool ok = false;
    queue_.Next(&tag, &ok);
    reader_.reset();
    const std::lock_guard lock(mutex_);
    context_.reset();
  }

  std::string name_;
  std::string token_;
  std::string number_;
  std::string listener_;  // its number, once it has proved that it knows the token
  std::uint64_t count_ = 0;
  bool is_known_ = false;  // to the current listener
  Seconds patience_{0};
  grpc::ByteBuffer request_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::CompletionQueue queue_;
  std::mutex mutex_;  // of the two below
  std::unique_ptr<grpc::ClientContext> context_;
  bool cancelled_ = false;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> reader_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
};

class GrpcCalls final : public CallNetwork {
 public:
  explicit GrpcCalls(CallOptions options) : options_(std::move(options)) { silence_grpc(); }
  std::unique_ptr<CallServer> listen(const std::string& address, CallHandler handler) override {
    return std::make_unique<GrpcCallServer>(options_, address, std::move(handler));
  }
  std::unique_ptr<Caller> reach(const std::string& name, const std::string& address) override {
    return std::make_unique<GrpcCaller>(options_, name, address);
  }

 private:
  CallOptions options_;
};

}  // namespace

std::unique_ptr<CallNetwork> make_grpc_calls(const CallOptions& options) {
  return std::make_unique<GrpcCalls>(options);
}

}  // namespace collbench
