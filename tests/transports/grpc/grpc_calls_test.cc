#include "transports/grpc/grpc_calls.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

CallOptions with_token(const std::string& token) { return {{token, {}}, Seconds{10}}; }

std::string failure_of_call(Caller& caller, CallFailure expected, Seconds patience = Seconds{10}) {
  try {
    caller.call("x", patience);
  } catch (const CallError& error) {
    EXPECT_EQ(error.failure, expected) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "the call was answered";
  return "";
}

TEST(GrpcCallsTest, AnswersHoldWhatTheHandlerMadeOfAllPieces) {
  for (const char* token : {"", "a secret of sixteen letters"}) {
    const auto network = make_grpc_calls(with_token(token));
    const auto server = network->listen("127.0.0.1:0", [](const IncomingCall& call) {
      return std::string(call.request.rbegin(), call.request.rend());
    });
    const auto caller = network->reach("ps 0", server->address());
    const std::string parts[] = {"ab", "", "cd", std::string(5'000'000, 'z')};
    std::vector<std::span<const std::byte>> pieces;
    for (const std::string& part : parts) pieces.push_back(std::as_bytes(std::span(part)));
    for (int i = 0; i < 3; ++i) {
      caller->start(pieces, Seconds{10});
      EXPECT_EQ(caller->finish(), std::string(5'000'000, 'z') + "dcba");
    }
  }
}

TEST(GrpcCallsTest, WhatAHandlerThrowsReachesTheCaller) {
  const auto network = make_grpc_calls({});
  const auto server = network->listen("127.0.0.1:0", [](const IncomingCall&) -> std::string {
    throw InvalidArgument("seven is too many");
  });
  const auto caller = network->reach("ps 0", server->address());
  EXPECT_EQ(failure_of_call(*caller, CallFailure::refused), "seven is too many");
}

TEST(GrpcCallsTest, AbsentLateAndCancelledAreToldApart) {
  const auto network = make_grpc_calls({});
  auto server = network->listen("127.0.0.1:0", [](const IncomingCall& call) {
    while (!call.abandoned()) std::this_thread::sleep_for(5ms);
    return std::string();
  });
  const std::string address = server->address();
  const auto caller = network->reach("ps 3", address);
  EXPECT_THAT(failure_of_call(*caller, CallFailure::late, Seconds{0.2}), HasSubstr("ps 3"));
  std::thread later([&] {
    std::this_thread::sleep_for(100ms);
    caller->cancel();
  });
  failure_of_call(*caller, CallFailure::cancelled, Seconds{0});
  later.join();
  server.reset();
  const auto another = network->reach("ps 3", address);
  EXPECT_THAT(failure_of_call(*another, CallFailure::absent), HasSubstr("ps 3 is not there"));
}

TEST(GrpcCallsTest, AServerThatEndsIsLostToThoseThatWait) {
  const auto network = make_grpc_calls({});
  std::atomic<bool> called{false};
  auto server = network->listen("127.0.0.1:0", [&](const IncomingCall& call) -> std::string {
    called = true;
    while (!call.abandoned()) std::this_thread::sleep_for(5ms);
    throw TransportError("ending");
  });
  const auto caller = network->reach("the chief", server->address());
  std::thread waiting([&] { EXPECT_THROW(caller->call("x", Seconds{0}), CallError); });
  while (!called) std::this_thread::sleep_for(5ms);
  server.reset();
  waiting.join();
}

TEST(GrpcCallsTest, OnlyWhoKnowsTheTokenCallsAndIsCalled) {
  const auto ours = make_grpc_calls(with_token("the token of this run"));
  std::atomic<int> handled{0};
  const auto server = ours->listen("127.0.0.1:0", [&](const IncomingCall&) {
    ++handled;
    return std::string();
  });
  for (const char* token : {"", "the token of thaT run"}) {
    const auto stranger = make_grpc_calls(with_token(token))->reach("ps 0", server->address());
    EXPECT_THAT(failure_of_call(*stranger, CallFailure::refused), HasSubstr("the token differs"));
  }
  EXPECT_EQ(handled, 0);
  ours->reach("ps 0", server->address())->call("x", Seconds{10});
  EXPECT_EQ(handled, 1);
}

TEST(GrpcCallsTest, ATakenPortIsRefused) {
  const auto network = make_grpc_calls({});
  const auto handler = [](const IncomingCall&) { return std::string(); };
  const auto server = network->listen("127.0.0.1:0", handler);
  EXPECT_THROW(network->listen(server->address(), handler), TransportError);
}

}  // namespace
}  // namespace collbench
