// One server carries streams of elements and calls, and one greeting decides who may use either.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/stranger.h"

#include "core/host_port.h"
#include "transports/grpc/grpc_calls.h"
#include "transports/grpc/server.h"
#include "transports/grpc/stream.h"

namespace collbench {
namespace {

using testing::HasSubstr;

constexpr const char* right_token = "the token of this run";
constexpr const char* services[] = {grpc_names::exchange, grpc_names::calls};

/// Rank 1 of 2, whose one server takes a stream of elements and answers calls with their requests.
class BothServices final : private IncomingEvents {
 public:
  BothServices()
      : server_({.listen = "127.0.0.1:0",
                 .security = {right_token, {}},
                 .most_unproved = 16,
                 .calls_at_once = 8,
                 .longest_message = -1,
                 .arguments = {},
                 .rank = 1,
                 .ranks = 2}) {
    calls_ = make_grpc_call_service(server_, {[this](const IncomingCall& call) {
                                      ++served;
                                      return std::string(call.request);
                                    }});
    server_.guard().always_polled();
    server_.start({&calls_->service()}, &generic_);
    await_stream();
    thread_ = std::thread([this] { poll(); });
  }
  ~BothServices() override {
    calls_->end();
    server_.shut_down(Seconds{0});
    server_.queue().Shutdown();
    thread_.join();
  }

  const std::string& address() const { return server_.address(); }
  int port() const { return parse_host_port("test", address()).port; }

  std::atomic<int> served{0};  // messages and calls

 private:
  void await_stream() {
    streams_.push_back(std::make_unique<IncomingStream>(generic_, server_.queue(), self_,
                                                        static_cast<IncomingEvents&>(*this)));
  }
  void poll() {
    void* tag = nullptr;
    bool ok = false;
    while (server_.queue().Next(&tag, &ok)) static_cast<GrpcTag*>(tag)->run(ok);
  }
  void called(IncomingStream& /*stream*/) override { await_stream(); }
  void arrived(IncomingStream& stream, const GrpcIdentity& /*identity*/) override {
    latest_ = &stream;
    server_.guard().prove(stream.connection());
    stream.accept();
  }
  void went_away(const GrpcIdentity& /*claimed*/) override {}
  void received(Rank, std::span<const std::span<const std::byte>>,
                const std::shared_ptr<const void>&) override {
    ++served;
    latest_->read();
  }
  void incoming_ended(Rank, const StreamEnd&) override {}

  const GrpcSelf self_{1, 2, right_token};
  grpc::AsyncGenericService generic_;
  std::vector<std::unique_ptr<IncomingStream>> streams_;
  IncomingStream* latest_ = nullptr;
  std::unique_ptr<GrpcCallService> calls_;  // goes after the server
  GrpcServer server_;
  std::thread thread_;
};

/// How a stream to `method` as rank 0 ends that sends one message, once it is open, and closes.
struct OneMessage final : OutgoingEvents {
  OneMessage(const std::string& address, const char* method, Rank to, const std::string& token)
      : self{0, 2, token} {
    const auto channel = make_channel(address, {token, {}}, {});
    OutgoingStream stream(channel, queue, method, to, self, 1 << 10, *this);
    stream.send_copy(std::as_bytes(std::span("x", 1)));
    void* tag = nullptr;
    bool ok = false;
    while (!stream.idle() && queue.Next(&tag, &ok)) {
      static_cast<GrpcTag*>(tag)->run(ok);
      if (is_open) stream.close();
    }
    queue.Shutdown();
    while (queue.Next(&tag, &ok)) continue;
  }
  void opened(Rank /*to*/) override { is_open = true; }
  void control(Rank /*from*/, std::string /*message*/) override {}
  void outgoing_ended(Rank /*to*/, const StreamEnd& how) override { end = how; }

  GrpcSelf self;
  grpc::CompletionQueue queue;
  bool is_open = false;
  std::optional<StreamEnd> end;
};

Rank listener_of(const char* method) { return method == services[0] ? 1 : -1; }

TEST(GrpcServerTest, OneServerTakesStreamsAndAnswersCalls) {
  BothServices both;
  for (const char* method : services) {
    const OneMessage sent(both.address(), method, listener_of(method), right_token);
    EXPECT_TRUE(sent.is_open) << method << ": " << sent.end->text;
  }
  const auto caller =
      make_grpc_calls({{right_token, {}}, Seconds{10}})->reach("rank 1", both.address());
  EXPECT_EQ(caller->call("a call", Seconds{10}), "a call");
  EXPECT_EQ(both.served, 3);
}

TEST(GrpcServerTest, AnotherTokenIsRefusedByEitherServiceInTheSameWords) {
  BothServices both;
  for (const char* method : services) {
    for (const char* token : {"", "the token of thaT run"}) {
      const OneMessage sent(both.address(), method, listener_of(method), token);
      EXPECT_FALSE(sent.is_open) << method;
      EXPECT_EQ(sent.end->kind, StreamEnd::Kind::foreign) << method;
      EXPECT_EQ(sent.end->text, of_another_run) << method;
    }
    // One that does not look at the listener's proof, and guesses its own.
    Stranger guess(both.port());
    EXPECT_TRUE(guess.enter(right_token));
    guess.say(http2_call({{"collbench-protocol", grpc_names::protocol},
                          {"collbench-rank", "0"},
                          {"collbench-ranks", "2"},
                          {"collbench-number", std::string(32, 'a')}},
                         method) +
              http2_frame(0, 0, 1, std::string("\0\0\0\0\x40", 5) + std::string(64, '0')));
    EXPECT_THAT(guess.hear(1000), HasSubstr(of_another_run)) << method;
  }
  EXPECT_EQ(both.served, 0);
}

TEST(GrpcServerTest, AProofForOneServiceIsNoneForTheOther) {
  BothServices both;
  for (const char* method : services) {
    const OneMessage sent(both.address(), method, -listener_of(method), right_token);
    EXPECT_FALSE(sent.is_open) << method;
    EXPECT_EQ(sent.end->kind, StreamEnd::Kind::foreign) << method;
  }
  EXPECT_EQ(both.served, 0);
}

TEST(GrpcServerTest, AnotherVersionIsRefusedByEitherServiceInTheSameWords) {
  BothServices both;
  for (const char* method : services) {
    Stranger old(both.port());
    EXPECT_TRUE(old.enter(right_token));
    old.say(http2_call({{"collbench-protocol", "1"}}, method));
    EXPECT_THAT(old.hear(1000), HasSubstr("it speaks protocol")) << method;
  }
  Stranger lost(both.port());
  EXPECT_TRUE(lost.enter(right_token));
  lost.say(http2_call({{"collbench-protocol", grpc_names::protocol}}, "/collbench.Other/Call"));
  EXPECT_THAT(lost.hear(1000), HasSubstr("there is no such method"));
  EXPECT_EQ(both.served, 0);
}

}  // namespace
}  // namespace collbench
