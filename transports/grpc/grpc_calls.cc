#include "transports/grpc/grpc_calls.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include "transports/grpc/server.h"
#include "transports/grpc/stream.h"

namespace collbench {
namespace {

constexpr Seconds farewell{0.2};        // for handlers that answer while we end
constexpr int unproved_callers = 64;    // workers that begin included
constexpr int streams_of_a_caller = 2;  // one, and one that was given up
constexpr Rank server_of_calls = -1;    // it is no rank
constexpr Rank any_caller = 0;          // nor is a caller, but a greeting names one

/// Both ends probe a silent connection (keepalive) three times per timeout.
std::vector<ChannelArgument> arguments_of(const CallOptions& options) {
  const auto period = static_cast<int>(std::clamp(options.timeout.count() / 3, 0.5, 3600.0) * 1e3);
  return {{GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1},
          {GRPC_ARG_HTTP2_BDP_PROBE, 0},
          {GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, std::numeric_limits<int>::max()},
          {GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000},
          {GRPC_ARG_KEEPALIVE_TIME_MS, period},
          {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, period},
          {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
          {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, period / 2}};
}

class GrpcCallServer final : public CallServer {
 public:
  GrpcCallServer(const CallOptions& options, const std::string& address, CallHandlers handlers)
      : server_({address, options.security, unproved_callers, streams_of_a_caller, -1,
                 arguments_of(options)}) {
    service_ = make_grpc_call_service(server_, std::move(handlers));
    server_.guard().always_polled();
    server_.start({&service_->service()}, nullptr);
  }
  ~GrpcCallServer() override {
    service_->end();
    server_.shut_down(farewell);
  }
  std::string address() const override { return server_.address(); }

 private:
  std::unique_ptr<GrpcCallService> service_;  // goes after the server
  GrpcServer server_;
};

/// The streams of all callers of a network, started and polled by one thread: a caller that
/// computes for long would not answer the other side's probes.
class CallQueue {
 public:
  CallQueue() : thread_([this] { run(); }) {}
  ~CallQueue() {
    queue.Shutdown();
    thread_.join();
  }
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// Requires the lock. The task is run by the thread, with the lock, in the order posted.
  void post(std::function<void()> task) {
    tasks_.push_back(std::move(task));
    if (!wake_.pending()) alarm_.Set(&queue, gpr_now(GPR_CLOCK_MONOTONIC), wake_.put());
  }

  grpc::CompletionQueue queue;
  std::mutex mutex;
  std::condition_variable changed;

 private:
  void run() {
    void* tag = nullptr;
    bool ok = false;
    while (queue.Next(&tag, &ok)) {
      const std::lock_guard lock(mutex);
      static_cast<GrpcTag*>(tag)->run(ok);
      changed.notify_all();
    }
  }

  std::vector<std::function<void()>> tasks_;
  GrpcTag wake_{[this](bool) {
    for (const auto& task : std::exchange(tasks_, {})) task();
  }};
  grpc::Alarm alarm_;
  std::thread thread_;
};

/// A caller's stream. What it gets is to be looked at with the queue's mutex.
struct CallLine final : OutgoingEvents {
  void opened(Rank /*to*/) override {}
  void control(Rank /*from*/, std::string message) override { answer = std::move(message); }
  void outgoing_ended(Rank /*to*/, const StreamEnd& how) override { end = how; }

  bool idle() const { return is_left && (stream == nullptr || stream->idle()); }

  std::unique_ptr<OutgoingStream> stream;  // of the queue's thread
  bool is_left = false;                    // no task will use it
  std::optional<std::string> answer;
  std::optional<StreamEnd> end;
};

class GrpcCaller final : public Caller {
 public:
  GrpcCaller(std::shared_ptr<CallQueue> queue, const CallOptions& options, std::string name,
             const std::string& address)
      : queue_(std::move(queue)),
        name_(std::move(name)),
        self_{any_caller, 1, options.security.token},
        channel_(make_channel(address, options.security, arguments_of(options))) {}
  ~GrpcCaller() override {
    std::unique_lock lock(queue_->mutex);
    hang_up();
    queue_->changed.wait(lock, [this] {
      return std::all_of(left_.begin(), left_.end(), [](const auto& line) { return line->idle(); });
    });
  }

  void start(std::string request, Seconds patience) override {
    const std::lock_guard lock(queue_->mutex);
    if (line_ != nullptr && line_->end) hang_up();
    std::erase_if(left_, [](const auto& line) { return line->idle(); });
    if (line_ == nullptr) line_ = std::make_unique<CallLine>();
    patience_ = patience;
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
    queue_->post([this, line = line_.get(), request = std::move(request)] {
      if (line->stream == nullptr) {
        line->stream = std::make_unique<OutgoingStream>(channel_, queue_->queue, grpc_names::calls,
                                                        server_of_calls, self_, 1, *line);
      }
      line->stream->send_copy(std::as_bytes(std::span(request)));
    });
  }

  std::string finish() override {
    std::unique_lock lock(queue_->mutex);
    const auto over = [this] { return line_->answer || line_->end; };
    if (patience_.count() <= 0) {
      queue_->changed.wait(lock, over);
    } else if (!queue_->changed.wait_until(lock, deadline_, over)) {
      hang_up();
      throw CallError(CallFailure::late, name_ + " does not answer");
    }
    if (!line_->answer) throw failure(*line_->end);
    std::string answer = *std::exchange(line_->answer, std::nullopt);
    lock.unlock();
    const bool refused = answer.ends_with(grpc_names::refusal);
    answer.pop_back();
    if (refused) throw CallError(CallFailure::refused, answer);
    return answer;
  }

  bool lost() override {
    const std::lock_guard lock(queue_->mutex);
    return line_ != nullptr && line_->end;
  }

 private:
  using Clock = std::chrono::steady_clock;

  CallError failure(const StreamEnd& end) const {
    using Kind = StreamEnd::Kind;
    if (end.kind == Kind::refused || end.kind == Kind::foreign) {
      return {CallFailure::refused, name_ + " refuses this process: " + end.text};
    }
    return {CallFailure::absent,
            name_ + " is not there: " + (end.text.empty() ? "it has ended" : end.text)};
  }

  /// Requires the lock. A stream may go only when it is idle.
  void hang_up() {
    if (line_ == nullptr) return;
    queue_->post([line = line_.get()] {
      if (line->stream != nullptr) line->stream->cancel();
      line->is_left = true;
    });
    left_.push_back(std::move(line_));
  }

  const std::shared_ptr<CallQueue> queue_;
  const std::string name_;
  const GrpcSelf self_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<CallLine> line_;
  std::vector<std::unique_ptr<CallLine>> left_;
  Seconds patience_{0};
  Clock::time_point deadline_;
};

class GrpcCalls final : public CallNetwork {
 public:
  explicit GrpcCalls(CallOptions options) : options_(std::move(options)) { silence_grpc(); }
  std::unique_ptr<CallServer> listen(const std::string& address, CallHandlers handlers) override {
    return std::make_unique<GrpcCallServer>(options_, address, std::move(handlers));
  }
  std::unique_ptr<Caller> reach(const std::string& name, const std::string& address) override {
    return std::make_unique<GrpcCaller>(queue_, options_, name, address);
  }

 private:
  const CallOptions options_;
  const std::shared_ptr<CallQueue> queue_ = std::make_shared<CallQueue>();
};

}  // namespace

std::unique_ptr<CallNetwork> make_grpc_calls(const CallOptions& options) {
  return std::make_unique<GrpcCalls>(options);
}

}  // namespace collbench
