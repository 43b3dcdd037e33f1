#include "transports/world/bootstrap.h"

#include <atomic>
#include <future>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/keyed_digest.h"
#include "transports/world/bootstrap_messages.h"
#include "transports/world/bootstrap_sockets.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string free_address(const std::string& host = "127.0.0.1") {
  return host + ":" + std::to_string(Reception(host + ":0", "a test", 1).port());
}

Bootstrap bootstrap(const std::string& address, Rank rank, int ranks, double seconds = 30) {
  Bootstrap one;
  one.address = address;
  one.listen = address.starts_with("[") ? "::1" : "127.0.0.1";
  one.rank = rank;
  one.ranks = ranks;
  one.version = "1.0";
  one.timeout = Seconds{seconds};
  return one;
}

using Result = std::future<std::vector<std::string>>;

Result attend(const Bootstrap& bootstrap, int port) {
  return std::async(std::launch::async, [=] { return meet(bootstrap, port); });
}

std::string failure_of(Result& result) {
  try {
    result.get();
  } catch (const TransportError& error) {
    return error.what();
  }
  return "";
}

TEST(BootstrapTest, EveryRankLearnsAllAddressesInWhateverOrderTheyCome) {
  const std::string address = free_address();
  Result two = attend(bootstrap(address, 2, 3), 12);
  Result one = attend(bootstrap(address, 1, 3), 11);
  Result zero = attend(bootstrap(address, 0, 3), 10);
  const auto all = ElementsAre("127.0.0.1:10", "127.0.0.1:11", "127.0.0.1:12");
  EXPECT_THAT(zero.get(), all);
  EXPECT_THAT(one.get(), all);
  EXPECT_THAT(two.get(), all);
}

TEST(BootstrapTest, EveryRankIsHandedTheTableOnce) {
  for (const int ranks : {1, 2, 16, 17, 18, 272, 4096}) {
    std::set<Rank> handed = {0};
    for (Rank rank = 0; rank < ranks; ++rank) {
      for (const Rank child : bootstrap_children(rank, ranks)) {
        EXPECT_LT(child, ranks);
        EXPECT_TRUE(handed.contains(rank)) << "it has no table to give";
        EXPECT_TRUE(handed.insert(child).second);
      }
    }
    EXPECT_EQ(std::ssize(handed), ranks);
  }
}

TEST(BootstrapTest, ManyRanksHandTheTableOnToEachOther) {
  const std::string address = free_address();
  constexpr int ranks = 60;
  std::vector<Result> all;
  for (Rank rank = ranks - 1; rank >= 0; --rank) {
    all.push_back(attend(bootstrap(address, rank, ranks), 100 + rank));
  }
  const std::vector<std::string> expected = all.back().get();
  EXPECT_EQ(expected.at(59), "127.0.0.1:159");
  all.pop_back();
  for (Result& one : all) EXPECT_EQ(one.get(), expected);
}

TEST(BootstrapTest, AddressesOfIpv6AndChosenOnesAreHandedOut) {
  const std::string address = free_address("[::1]");
  Bootstrap named = bootstrap(address, 1, 2);
  named.host = "fd00::7";
  Result one = attend(named, 11);
  Result zero = attend(bootstrap(address, 0, 2), 10);
  EXPECT_THAT(zero.get(), ElementsAre("[::1]:10", "[fd00::7]:11"));
  one.get();
}

TEST(BootstrapTest, DifferencesAndTwinsAreNamedOnEveryRank) {
  struct Difference {
    Rank rank;
    int ranks;
    const char* version;
    const char* words;
  };
  for (const Difference& wrong :
       {Difference{2, 4, "1.0", "rank 2 at 127.0.0.1 was started for 4 ranks, rank 0 for 3"},
        Difference{2, 3, "1.1", "rank 2 at 127.0.0.1 has version 1.1 where rank 0 has 1.0"},
        Difference{1, 3, "1.0", "rank 1 was started twice, at 127.0.0.1 and at 127.0.0.1"}}) {
    const std::string address = free_address();
    Result zero = attend(bootstrap(address, 0, 3), 10);
    Result one = attend(bootstrap(address, 1, 3), 11);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // rank 1 has come
    Bootstrap guest = bootstrap(address, wrong.rank, wrong.ranks);
    guest.version = wrong.version;
    Result other = attend(guest, 12);
    EXPECT_THAT(failure_of(zero), HasSubstr(wrong.words));
    EXPECT_THAT(failure_of(one), HasSubstr(wrong.words));
    EXPECT_THAT(failure_of(other), HasSubstr(wrong.words));
  }
}

TEST(BootstrapTest, ThoseWhoWaitAreToldOfADifferenceThatComesLater) {
  const std::string address = free_address();
  Result zero = attend(bootstrap(address, 0, 4), 10);
  Result one = attend(bootstrap(address, 1, 4), 11);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  Result other = attend(bootstrap(address, 3, 5), 13);
  const auto words = HasSubstr("rank 3 at 127.0.0.1 was started for 5 ranks, rank 0 for 4");
  EXPECT_THAT(failure_of(zero), words);
  EXPECT_THAT(failure_of(one), words);
  EXPECT_THAT(failure_of(other), words);
}

TEST(BootstrapTest, WhoDoesNotKnowTheTokenIsRefusedAndDisturbsNobody) {
  const std::string address = free_address();
  Bootstrap host = bootstrap(address, 0, 2);
  host.token = "open sesame";
  std::mutex mutex;
  std::string said;
  host.on_waiting = [&](const std::string& text) {
    const std::lock_guard lock(mutex);
    said += text;
  };
  Result zero = attend(host, 10);
  Bootstrap stranger = bootstrap(address, 1, 2);
  stranger.token = "open barley";
  Result refused = attend(stranger, 66);
  EXPECT_THAT(failure_of(refused), HasSubstr("does not know the token of this job, and says: rank "
                                             "1 at 127.0.0.1 belongs to another run"));
  LineSocket noise = connect_again(address, BackOff(1), [](const std::string&) {});
  noise.send("GET / HTTP/1.1");
  LineSocket silent = connect_again(address, BackOff(1), [](const std::string&) {});
  LineSocket endless = connect_again(address, BackOff(1), [](const std::string&) {});
  endless.send(std::string(100'000, 'x'));
  Bootstrap guest = bootstrap(address, 1, 2);
  guest.token = "open sesame";
  Result one = attend(guest, 11);
  EXPECT_THAT(zero.get(), ElementsAre("127.0.0.1:10", "127.0.0.1:11"));
  one.get();
  EXPECT_THAT(said, HasSubstr("refused rank 1 at 127.0.0.1 belongs to another run"));
}

TEST(BootstrapTest, AHostThatDoesNotKnowTheTokenIsNotBelieved) {
  const std::string address = free_address();
  Bootstrap host = bootstrap(address, 0, 2, 3);
  host.token = "other";
  Result zero = attend(host, 10);
  Result one = attend(bootstrap(address, 1, 2), 11);
  EXPECT_THAT(failure_of(one), HasSubstr("rank 0 at " + address + " does not know the token"));
  EXPECT_THAT(failure_of(zero), HasSubstr("waited 3 s for rank 1"));
}

TEST(BootstrapTest, MissingRanksAreNamedAfterTheTimeoutOnEveryRank) {
  const std::string address = free_address();
  Result two = attend(bootstrap(address, 2, 4), 12);
  Result zero = attend(bootstrap(address, 0, 4, 1), 10);
  const auto words = HasSubstr("rank 0 waited 1 s for ranks 1, 3 at the meeting " + address);
  EXPECT_THAT(failure_of(zero), words);
  EXPECT_THAT(failure_of(two), words);
  Result one = attend(bootstrap(free_address(), 1, 3, 0.5), 10);
  EXPECT_THAT(failure_of(one), HasSubstr("for rank 0 (Connection refused) at the meeting"));
  Result nowhere = attend(bootstrap("no-such-host.invalid:1", 1, 3, 0.5), 10);
  EXPECT_THAT(failure_of(nowhere), HasSubstr("cannot find 'no-such-host.invalid'"));
}

TEST(BootstrapTest, ARankThatIsLostBeforeTheOthersComeIsNamed) {
  const std::string address = free_address();
  Result zero = attend(bootstrap(address, 0, 3), 10);
  {
    LineSocket one = connect_again(address, BackOff(1), [](const std::string&) {});
    std::optional<std::string> greeting;
    while (!(greeting = one.take_line())) ASSERT_TRUE(one.receive());
    BootstrapGuest guest;
    guest.version = bootstrap(address, 1, 3).version;
    guest.rank = 1;
    guest.ranks = 3;
    guest.port = 11;
    guest.number = random_digits();
    one.send(guest_line(guest, bootstrap(address, 1, 3).token, greeted_number(*greeting).value()));
  }
  EXPECT_THAT(failure_of(zero), HasSubstr("rank 1 was lost at the start"));
}

TEST(BootstrapTest, WhoGivesUpIsNotTakenForTheCause) {
  const std::string address = free_address();
  Result zero = attend(bootstrap(address, 0, 3), 10);
  Result one = attend(bootstrap(address, 1, 3, 2), 11);
  EXPECT_THAT(failure_of(one), HasSubstr("waited 2 s for rank 2 at the meeting"));
  EXPECT_THAT(failure_of(zero),
              HasSubstr("rank 2 did not come to the meeting " + address + ": rank 1 has gone"));
}

TEST(BootstrapTest, ARank0ThatIsStoppedIsNotTakenForOneThatWaits) {
  Reception stopped("127.0.0.1:0", "a test", 2);
  const std::string address = "127.0.0.1:" + std::to_string(stopped.port());
  Result one = attend(bootstrap(address, 1, 3, 2), 11);
  std::vector<Reception::Caller> heard;  // and never answered
  while (one.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    stopped.serve(std::chrono::milliseconds(20),
                  [&](Reception::Caller&& caller, const std::string& /*line*/) {
                    heard.push_back(std::move(caller));
                  });
  }
  EXPECT_EQ(heard.size(), 1U);
  EXPECT_THAT(failure_of(one), HasSubstr("waited 2 s for rank 0, which says nothing more, at"));
}

TEST(BackOffTest, PausesGrowToASecondAndDifferBetweenRanks) {
  BackOff one(1);
  BackOff two(2);
  std::chrono::milliseconds longest{0};
  bool differ = false;
  for (int i = 0; i < 30; ++i) {
    const auto pause = one.next();
    EXPECT_LE(pause.count(), 1250);
    if (i > 20) {
      EXPECT_GE(pause.count(), 750);
    }
    longest = std::max(longest, pause);
    differ = differ || pause != two.next();
  }
  EXPECT_TRUE(differ);
}

}  // namespace
}  // namespace collbench
