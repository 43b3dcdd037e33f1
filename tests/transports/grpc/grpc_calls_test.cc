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

/// A listener at any port whose calls `answer` answers.
template <class Answer>
std::unique_ptr<CallServer> listening(CallNetwork& network, Answer answer) {
  return network.listen("127.0.0.1:0", {answer});
}

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

TEST(GrpcCallsTest, AnswersHoldWhatTheHandlerMadeOfARequestOfAnySize) {
  for (const char* token : {"", "a secret of sixteen letters"}) {
    const auto network = make_grpc_calls(with_token(token));
    const auto server = listening(*network, [](const IncomingCall& call) {
      return std::string(call.request.rbegin(), call.request.rend());
    });
    const auto caller = network->reach("ps 0", server->address());
    for (const std::string& request : {std::string("abcd"), std::string(), std::string("a"),
                                       std::string(5'000'000, 'z') + "y"}) {
      caller->start(request, Seconds{10});
      EXPECT_EQ(caller->finish(), std::string(request.rbegin(), request.rend()));
    }
  }
}

TEST(GrpcCallsTest, WhatAHandlerThrowsReachesTheCaller) {
  const auto network = make_grpc_calls({});
  const auto server = listening(*network, [](const IncomingCall&) -> std::string {
    throw InvalidArgument("seven is too many");
  });
  const auto caller = network->reach("ps 0", server->address());
  EXPECT_EQ(failure_of_call(*caller, CallFailure::refused), "seven is too many");
}

TEST(GrpcCallsTest, AbsentAndLateAreToldApartAndALateServerIsCalledAgain) {
  const auto network = make_grpc_calls({});
  std::atomic<int> abandoned{0};
  auto server = listening(*network, [&](const IncomingCall& call) {
    while (call.request == "x" && !call.abandoned()) std::this_thread::sleep_for(5ms);
    if (call.request == "x") ++abandoned;
    return std::string(call.request);
  });
  const std::string address = server->address();
  const auto caller = network->reach("ps 3", address);
  // Connected, or on a busy machine the late call might never reach the server.
  EXPECT_EQ(caller->call("first", Seconds{10}), "first");
  EXPECT_THAT(failure_of_call(*caller, CallFailure::late, Seconds{0.2}), HasSubstr("ps 3"));
  EXPECT_EQ(caller->call("again", Seconds{10}), "again");
  while (abandoned == 0) std::this_thread::sleep_for(5ms);
  server.reset();
  EXPECT_THAT(failure_of_call(*caller, CallFailure::absent), HasSubstr("ps 3 is not there"));
  const auto another = network->reach("ps 3", address);
  EXPECT_THAT(failure_of_call(*another, CallFailure::absent), HasSubstr("ps 3 is not there"));
}

TEST(GrpcCallsTest, EachSideSeesWithoutACallThatTheOtherHasEnded) {
  const auto network = make_grpc_calls({});
  std::atomic<CallerNumber> came{0};
  std::atomic<CallerNumber> went{0};
  auto server = network->listen("127.0.0.1:0", {[&](const IncomingCall& call) {
                                                  came = call.caller;
                                                  return std::string();
                                                },
                                                [&](CallerNumber caller) { went = caller; }});
  auto first = network->reach("ps 3", server->address());
  first->call("x", Seconds{10});
  const CallerNumber number = came;
  first->call("x", Seconds{10});
  EXPECT_EQ(came, number);
  EXPECT_EQ(went, 0U);
  first.reset();
  while (went != number) std::this_thread::sleep_for(5ms);
  const auto second = network->reach("ps 3", server->address());
  EXPECT_FALSE(second->lost());
  second->call("x", Seconds{10});
  EXPECT_NE(came, number);
  EXPECT_FALSE(second->lost());
  server.reset();
  while (!second->lost()) std::this_thread::sleep_for(5ms);
}

TEST(GrpcCallsTest, AServerThatEndsIsLostToThoseThatWait) {
  const auto network = make_grpc_calls({});
  std::atomic<bool> called{false};
  auto server = listening(*network, [&](const IncomingCall& call) -> std::string {
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
  const auto server = listening(*ours, [&](const IncomingCall&) {
    ++handled;
    return std::string();
  });
  for (const char* token : {"", "the token of thaT run"}) {
    const auto stranger = make_grpc_calls(with_token(token))->reach("ps 0", server->address());
    EXPECT_THAT(failure_of_call(*stranger, CallFailure::refused), HasSubstr("its job differs"));
  }
  EXPECT_EQ(handled, 0);
  ours->reach("ps 0", server->address())->call("x", Seconds{10});
  EXPECT_EQ(handled, 1);
}

TEST(GrpcCallsTest, ATakenPortIsRefused) {
  const auto network = make_grpc_calls({});
  const CallHandlers handlers{[](const IncomingCall&) { return std::string(); }};
  const auto server = network->listen("127.0.0.1:0", handlers);
  EXPECT_THROW(network->listen(server->address(), handlers), TransportError);
}

}  // namespace
}  // namespace collbench
