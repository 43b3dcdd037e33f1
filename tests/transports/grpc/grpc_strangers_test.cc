// What strangers do to a rank's port does not keep the ranks from joining, and takes little of it.
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/all_meet.h"
#include "tests/transports/grpc/grpc_ranks.h"
#include "tests/transports/grpc/stranger.h"
#include "tests/transports/small_values.h"

#include "algorithms/registry.h"
#include "core/host_port.h"
#include "core/random.h"
#include "transports/grpc/connection_guard.h"
#include "transports/grpc/grpc_calls.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

int port_of(const std::string& address) { return parse_host_port("test", address).port; }

/// Waits for what must happen, for less than a test may take.
bool happens(const std::function<bool()>& what) {
  const auto start = std::chrono::steady_clock::now();
  while (!what()) {
    if (std::chrono::steady_clock::now() - start > std::chrono::seconds(20)) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Says it again and again until the other side closes.
bool is_cut_off(Stranger& stranger, const std::string& words) {
  return happens([&] { return !stranger.say(words) && stranger.closed(); });
}

/// Rank 0 waits for rank 1 while `disturb` has its port; then rank 1 comes, and both all-reduce.
void join_after(const std::function<void(int port)>& disturb) {
  auto first = make_grpc_endpoint(grpc_test_options(0, 2));
  auto second = make_grpc_endpoint(grpc_test_options(1, 2));
  const std::vector<std::string> addresses{first->address(), second->address()};
  std::string failures[2];
  const auto join = [&](std::unique_ptr<GrpcEndpoint> endpoint, std::string& failure) {
    try {
      endpoint->connect(addresses);
      const auto sum =
          make_schedule_communicator(make_schedule("ring", 2), std::move(endpoint), "");
      EXPECT_EQ(all_reduce_error(*sum, DataType::f32, ReduceOp::sum, 300'000, true), "");
    } catch (const std::exception& error) {
      failure = error.what();
    }
  };
  std::thread zero([&] { join(std::move(first), failures[0]); });
  disturb(port_of(addresses[0]));
  join(std::move(second), failures[1]);
  zero.join();
  EXPECT_EQ(failures[0], "");
  EXPECT_EQ(failures[1], "");
}

TEST(GrpcStrangersTest, APortScanDoesNoHarm) {
  join_after([](int port) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(Stranger(port).connected());
  });
}

TEST(GrpcStrangersTest, GarbageDoesNoHarm) {
  join_after([](int port) {
    RandomEngine engine = random_engine(7, "garbage");
    for (int i = 0; i < 30; ++i) {
      std::string bytes(engine() % 3000, '\0');
      for (char& c : bytes) c = static_cast<char>(engine());
      Stranger(port).say(bytes);
      Stranger within(port);
      within.enter("test");
      within.say(bytes);
    }
    for (const char* text : {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "SSH-2.0-scan\r\n",
                             "\x16\x03\x01", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                             "collbench-meeting-1 0 2 1 x\n", "CONNECT x HTTP/1.0\r\n\r\n"}) {
      Stranger stranger(port);
      stranger.say(text);
      stranger.hear(20);
    }
    // A true beginning, then frames of any kind and content.
    for (int i = 0; i < 30; ++i) {
      Stranger stranger(port);
      EXPECT_TRUE(stranger.enter("test"));
      stranger.say(http2_call({}));
      for (int k = 0; k < 8; ++k) {
        std::string payload(engine() % 60, '\0');
        for (char& c : payload) c = static_cast<char>(engine());
        const auto type = static_cast<char>(engine() % 11);
        stranger.say(http2_frame(type, static_cast<char>(engine()), 1, payload));
      }
      stranger.hear(1);
    }
  });
}

TEST(GrpcStrangersTest, AFloodOfConnectionsIsCutToALimitAndRanksStillJoin) {
  std::vector<Stranger> flood;
  join_after([&](int port) {
    for (int i = 0; i < 400; ++i) flood.emplace_back(port);
    // 64 and one for every rank may stand in the guard.
    EXPECT_TRUE(happens([&] {
      const auto open =
          std::count_if(flood.begin(), flood.end(), [](Stranger& each) { return !each.closed(); });
      return open <= 64 + 2;
    }));
  });
}

std::string call_of_rank_1() {
  return http2_call({{"collbench-protocol", grpc_names::protocol},
                     {"collbench-rank", "1"},
                     {"collbench-ranks", "2"},
                     {"collbench-transport", "raw"},
                     {"collbench-number", std::string(32, 'a')}});
}

TEST(GrpcStrangersTest, ACallOfAStrangerIsRefusedInShortWords) {
  join_after([](int port) {
    Stranger old(port);
    EXPECT_TRUE(old.enter("test"));
    old.say(http2_call({{"collbench-protocol", "1"}}));
    EXPECT_THAT(old.hear(1000), HasSubstr("it speaks protocol"));
    Stranger vague(port);
    EXPECT_TRUE(vague.enter("test"));
    vague.say(http2_call({{"collbench-protocol", grpc_names::protocol}, {"collbench-rank", "-1"}}));
    EXPECT_THAT(vague.hear(1000), HasSubstr("the call names no rank"));
    Stranger guess(port);
    EXPECT_TRUE(guess.enter("test"));
    guess.say(call_of_rank_1() +
              http2_frame(0, 0, 1, std::string("\0\0\0\0\x40", 5) + std::string(64, '0')));
    EXPECT_THAT(guess.hear(1000), HasSubstr("its job differs"));
  });
}

TEST(GrpcStrangersTest, ALongMessageBeforeTheProofIsCutOff) {
  join_after([](int port) {
    Stranger stranger(port);
    EXPECT_TRUE(stranger.enter("test"));
    stranger.say(call_of_rank_1() + http2_frame(0, 0, 1, std::string("\0\x7f\xff\xff\xff", 5)));
    EXPECT_TRUE(is_cut_off(stranger, http2_frame(0, 0, 1, std::string(16'000, 'x'))));
  });
}

constexpr const char* token_of_calls = "the token of this run";

/// A server of calls that only who knows the token may make, after what strangers do to its port.
void call_after(const std::function<void(int port)>& strangers) {
  const auto network = make_grpc_calls({{token_of_calls, {}}, Seconds{60}});
  const auto server = network->listen(
      "127.0.0.1:0", {[](const IncomingCall& call) { return std::string(call.request); }});
  strangers(port_of(server->address()));
  const std::string much(5'000'000, 'x');
  EXPECT_EQ(network->reach("ps 0", server->address())->call(much, Seconds{60}), much);
}

TEST(GrpcStrangersTest, AFloodOfConnectionsLeavesAServerOfCallsOpen) {
  std::vector<Stranger> flood;
  call_after([&](int port) {
    for (int i = 0; i < 400; ++i) flood.emplace_back(port);
    EXPECT_TRUE(happens([&] {
      const auto open =
          std::count_if(flood.begin(), flood.end(), [](Stranger& each) { return !each.closed(); });
      return open <= 256;
    }));
  });
}

TEST(GrpcStrangersTest, ALongCallBeforeTheProofIsCutOff) {
  call_after([](int port) {
    Stranger stranger(port);
    EXPECT_TRUE(stranger.enter(token_of_calls));
    stranger.say(http2_call({{"collbench-protocol", grpc_names::protocol},
                             {"collbench-rank", "0"},
                             {"collbench-ranks", "1"},
                             {"collbench-number", std::string(32, 'a')}},
                            "/collbench.Calls/Call") +
                 http2_frame(0, 0, 1, std::string("\0\x7f\xff\xff\xff", 5)));
    const std::string frame = http2_frame(0, 0, 1, std::string(16'000, 'x'));
    EXPECT_TRUE(is_cut_off(stranger, frame));
  });
}

TEST(GrpcStrangersTest, AMessageLongerThanAPieceEndsTheRunOfWhoeverSendsIt) {
  const std::vector<std::string> failures = try_on_grpc_ranks(
      2,
      [](std::unique_ptr<GrpcEndpoint> endpoint) {
        std::vector<std::byte> bytes(8 << 20);
        const Region all{bytes.data(), std::ssize(bytes), DataType::u8};
        endpoint->wait(endpoint->rank() == 1 ? endpoint->send(0, all) : endpoint->recv(1, all));
        all_meet(*endpoint);
      },
      make_grpc_endpoint,
      // Rank 0 takes 1 MiB and a little.
      [](GrpcOptions& options) { options.piece = Bytes{options.rank == 0 ? 1 << 20 : 4 << 20}; });
  EXPECT_NE(failures[0], "");
  EXPECT_NE(failures[1], "");
}

/// A guard of rank 1 of 3 that admits into a list.
struct OpenDoor {
  OpenDoor(int most, Seconds patience)
      : guard("127.0.0.1:0", {1, 3, token}, {.unproved = most, .patience = patience}) {
    guard.open([this](int, int connection) {
      admitted.push_back(connection);
      ++admissions;
    });
  }
  ~OpenDoor() {
    guard.close();
    for (const int connection : admitted) close(connection);
  }
  static constexpr const char* token = "the token of this door";
  std::vector<int> admitted;
  std::atomic<int> admissions{0};
  ConnectionGuard guard;
};

/// Waits until the other side has closed.
bool is_closed_on(Stranger& stranger) {
  return happens([&] { return stranger.closed(); });
}

TEST(GrpcDoorTest, TheOldestStrangerGoesWhenTheDoorIsFull) {
  OpenDoor open(3, Seconds{60.0});
  std::vector<Stranger> strangers;
  for (int i = 0; i < 5; ++i) {
    strangers.emplace_back(open.guard.port());
    const int expected = std::min(i + 1, 3);
    EXPECT_TRUE(happens([&] { return open.guard.unproved() == expected; }));
  }
  EXPECT_TRUE(happens([&] { return strangers[0].closed() && strangers[1].closed(); }));
  for (int i = 2; i < 5; ++i) EXPECT_FALSE(strangers[static_cast<std::size_t>(i)].closed());
}

TEST(GrpcDoorTest, NoByteOfWhoDoesNotKnowTheTokenIsPassedOn) {
  OpenDoor open(100, Seconds{60.0});
  const GrpcIdentity identity{2, 3, std::string(32, 'a')};
  const std::string right = recorded_preamble(OpenDoor::token, identity);
  std::string changed = right;
  changed.replace(changed.find(" 2 3 "), 5, " 0 3 ");
  std::vector<Stranger> strangers;
  for (const std::string& words :
       {std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string("\x16\x03\x01"),
        std::string("CONNECT x HTTP/1.0\r\n\r\n"), std::string("CONNECT ") + std::string(1100, 'x'),
        recorded_preamble("another token", identity), changed, right + "PRI",
        recorded_preamble(OpenDoor::token, {2, 3, "short"}),
        // Elements, which this owner has not asked for.
        recorded_preamble(OpenDoor::token, identity, ConnectionUse::elements)}) {
    strangers.emplace_back(open.guard.port());
    EXPECT_TRUE(strangers.back().say(words));
  }
  for (Stranger& each : strangers) EXPECT_TRUE(is_closed_on(each));
  EXPECT_EQ(open.admissions, 0);
  EXPECT_EQ(open.guard.unproved(), 0);
  EXPECT_TRUE(open.guard.has_refused(2));  // said to be it, with another token
  EXPECT_FALSE(open.guard.has_refused(1));
}

TEST(GrpcDoorTest, APreambleMayComeInAnyPieces) {
  OpenDoor open(3, Seconds{60.0});
  const std::string right = recorded_preamble(OpenDoor::token, {2, 3, std::string(32, 'a')});
  Stranger slow(open.guard.port());
  for (const char letter : right) {
    ASSERT_TRUE(slow.say({&letter, 1}));
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  EXPECT_TRUE(happens([&] { return open.admissions == 1; }));
  EXPECT_EQ(slow.hear(50), std::string(preamble_names::granted) + "\r\n");
}

/// The caller's side of a connection of elements by rank 2, up to its proof.
struct ElementsCaller {
  explicit ElementsCaller(int port) : socket(port) {
    socket.say(recorded_preamble(OpenDoor::token, identity, ConnectionUse::elements));
    const auto answer = read_elements_answer(socket.hear(100));
    if (answer) proofs = element_proofs(OpenDoor::token, identity, 1, answer->number);
    is_answered = answer && answer->proof == proofs.listener;
  }
  const GrpcIdentity identity{2, 3, std::string(32, 'b')};
  Stranger socket;
  ElementProofs proofs;
  bool is_answered = false;
};

TEST(GrpcDoorTest, ElementsAreTakenOnlyFromWhoAnswersTheListenersNumber) {
  OpenDoor open(10, Seconds{60.0});
  EXPECT_TRUE(open.guard.take_elements().empty());
  ElementsCaller right(open.guard.port());
  ASSERT_TRUE(right.is_answered);
  // Bytes behind the proof are elements, which the guard leaves where they are.
  right.socket.say(right.proofs.caller + "elements");
  std::vector<ElementsConnection> taken;
  EXPECT_TRUE(happens([&] {
    taken = open.guard.take_elements();
    return !taken.empty();
  }));
  EXPECT_EQ(taken[0].from, 2);
  char first[8] = {};
  EXPECT_EQ(recv(taken[0].socket.number(), first, sizeof first, MSG_WAITALL), 8);
  EXPECT_EQ(std::string_view(first, 8), "elements");
  ElementsCaller replay(open.guard.port());
  ASSERT_TRUE(replay.is_answered);
  replay.socket.say(right.proofs.caller);  // recorded on another connection
  ElementsCaller reflected(open.guard.port());
  reflected.socket.say(reflected.proofs.listener);
  EXPECT_TRUE(is_closed_on(replay.socket));
  EXPECT_TRUE(is_closed_on(reflected.socket));
  EXPECT_TRUE(open.guard.take_elements().empty());
  EXPECT_EQ(open.admissions, 0);
}

TEST(GrpcDoorTest, ASilentStrangerIsClosedInTime) {
  OpenDoor open(3, Seconds{0.3});
  Stranger silent(open.guard.port());
  EXPECT_TRUE(is_closed_on(silent));
}

TEST(GrpcDoorTest, ASilentCallerIsClosedOnceTheOwnerHasPolledLongEnough) {
  OpenDoor open(3, Seconds{0.3});
  Stranger stranger(open.guard.port());
  ASSERT_TRUE(stranger.enter(OpenDoor::token));
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_FALSE(stranger.closed());  // the owner was busy
  EXPECT_TRUE(happens([&] {
    open.guard.note_poll();
    return stranger.closed();
  }));
}

TEST(GrpcDoorTest, WhoSaysTooMuchBeforeTheProofIsClosed) {
  OpenDoor open(3, Seconds{60.0});
  Stranger stranger(open.guard.port());
  ASSERT_TRUE(stranger.enter(OpenDoor::token));
  EXPECT_TRUE(happens([&] { return open.admissions == 1; }));
  std::atomic<bool> is_over{false};
  std::thread reader([&] {  // as gRPC would
    char buffer[65536];
    while (!is_over && recv(open.admitted.front(), buffer, sizeof buffer, MSG_DONTWAIT) != 0) {
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(is_cut_off(stranger, std::string(1000, 'x')));
  is_over = true;
  reader.join();
}

TEST(GrpcDoorTest, WhoHasProvedHimselfMayStay) {
  OpenDoor open(1, Seconds{0.2});
  Stranger one(open.guard.port());
  ASSERT_TRUE(one.enter(OpenDoor::token));
  EXPECT_TRUE(happens([&] { return open.admissions == 1; }));
  sockaddr_in address{};
  socklen_t length = sizeof address;
  getpeername(open.admitted.front(), reinterpret_cast<sockaddr*>(&address), &length);
  open.guard.prove("ipv4:127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  EXPECT_EQ(open.guard.unproved(), 0);
  Stranger two(open.guard.port());
  EXPECT_TRUE(is_closed_on(two));
  EXPECT_FALSE(one.closed());
}

TEST(GrpcDoorTest, NamesOfConnectionsAreThoseOfGrpcWithoutItsSpelling) {
  EXPECT_EQ(connection_name("ipv4:127.0.0.1:80"), "127.0.0.1:80");
  EXPECT_EQ(connection_name("ipv6:[::1]:80"), "[::1]:80");
  EXPECT_EQ(connection_name("ipv6:%5B::1%5D:80"), "[::1]:80");
  EXPECT_EQ(connection_name("ipv6:%5Bfe80::1%252%5D:80"), "[fe80::1]:80");
  EXPECT_EQ(connection_name("ipv6:[fe80::1%2]:80"), "[fe80::1]:80");
  for (const char* odd : {"", ":", "%", "ipv6:%5", "ipv6:[%"})
    EXPECT_NO_THROW(connection_name(odd));
}

TEST(GrpcDoorTest, AStrangersDoorIsNotOpenedTwice) {
  const ConnectionGuard guard("127.0.0.1:0", {}, {.unproved = 3});
  const std::string address = "127.0.0.1:" + std::to_string(guard.port());
  EXPECT_THROW(
      {
        try {
          ConnectionGuard(address, {}, {.unproved = 3});
        } catch (const std::exception& error) {
          EXPECT_THAT(error.what(), HasSubstr("cannot listen on " + address + ": Address already"));
          throw;
        }
      },
      std::exception);
}

}  // namespace
}  // namespace collbench
