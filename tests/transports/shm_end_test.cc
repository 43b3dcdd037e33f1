// A rank that has left its world may release its memory: nobody reads or writes it any more.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/faults/wrapped_endpoint.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"

namespace collbench {
namespace {

using std::chrono::microseconds;

// Memory that is gone once it is released: a later access is a crash.
class Pages {
 public:
  explicit Pages(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        memory_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Pages() { munmap(memory_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* begin() const { return static_cast<std::byte*>(memory_); }
  std::byte* end() const { return begin() + bytes_; }
  Region region() const { return {begin(), static_cast<std::int64_t>(bytes_), DataType::u8}; }

 private:
  std::size_t bytes_;
  void* memory_;
};

// Rank 0 sends, gives up after `wait` and changes what it sent. What rank 1 has then received is
// what was sent; or it hears that rank 0 has given up. Returns whether it received it.
bool arrives_unharmed_or_not_at_all(const Pages& from, const Pages& into, microseconds wait) {
  std::fill(from.begin(), from.end(), std::byte{1});
  const auto world = allocate_shm_world(2, {.timeout = Seconds{20.0}});
  std::atomic<bool> received{false};
  std::thread sender([&] {
    const auto endpoint = make_shm_endpoint({.world = world.get()}, 0);
    endpoint->send(1, from.region());
    std::this_thread::sleep_for(wait);
    EXPECT_EQ(endpoint->give_up("rank 0 has had enough"), "rank 0 has had enough");
    std::fill(from.begin(), from.end(), std::byte{2});
  });
  std::thread receiver([&] {
    const auto endpoint = make_shm_endpoint({.world = world.get()}, 1);
    try {
      endpoint->wait(endpoint->recv(0, into.region()));
      received = true;
    } catch (const TransportError& error) {
      EXPECT_STREQ(error.what(), "rank 0 has had enough");
    }
  });
  sender.join();
  receiver.join();
  if (received) {
    EXPECT_EQ(std::count(into.begin(), into.end(), std::byte{1}), into.region().count);
  }
  return received;
}

TEST(ShmEnd, WhoGivesUpWaitsForThoseWhoReadWhatItSent) {
  const Pages from(32 << 20);
  const Pages into(32 << 20);
  int received = 0;
  for (int i = 0; i < 20; ++i) {
    received += arrives_unharmed_or_not_at_all(from, into, microseconds{200 * i}) ? 1 : 0;
  }
  EXPECT_GT(received, 0);
}

// All-reduces on threads until somebody outside ends the world; each rank then releases its memory.
// Returns how many ranks heard why.
int ranks_that_heard_of_the_end(const std::string& algorithm, int ranks, microseconds life) {
  const auto world = allocate_shm_world(ranks, {.timeout = Seconds{20.0}});
  std::atomic<int> heard{0};
  std::vector<std::thread> threads;
  for (Rank r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const auto communicator = make_schedule_communicator(
          make_schedule(algorithm, ranks), make_shm_endpoint({.world = world.get()}, r), "test");
      const Pages data(8 << 20);
      try {
        while (true) communicator->all_reduce(data.region(), data.region(), ReduceOp::max);
      } catch (const TransportError& error) {
        if (std::string(error.what()) == "that is all") ++heard;
      }
    });
  }
  std::this_thread::sleep_for(life);
  abort_shm_world(world.get(), "that is all");
  for (std::thread& thread : threads) thread.join();
  return heard;
}

TEST(ShmEnd, RanksMayReleaseTheirMemoryAsSoonAsTheyHearOfTheEnd) {
  for (const char* algorithm : {"direct", "ring", "tree", "recursive-doubling", "one-shot"}) {
    for (int i = 0; i < 6; ++i) {
      ASSERT_EQ(ranks_that_heard_of_the_end(algorithm, 4, microseconds{3000 + 700 * i}), 4)
          << algorithm;
    }
  }
}

// Runs out of memory once it has sent what others are to read.
class ShortOfMemory final : public WrappedEndpoint {
 public:
  explicit ShortOfMemory(std::unique_ptr<Endpoint> endpoint)
      : WrappedEndpoint(std::move(endpoint)) {}
  void wait(Ticket ticket) override {
    if (++waits_ == 20) throw std::bad_alloc();
    WrappedEndpoint::wait(ticket);
  }

 private:
  int waits_ = 0;
};

TEST(ShmEnd, ARankThatFailsOnItsOwnTellsTheOthersAndLeavesAlone) {
  const auto world = allocate_shm_world(4, {.timeout = Seconds{60.0}});
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<int> told{0};
  std::vector<std::thread> threads;
  for (Rank r = 0; r < 4; ++r) {
    threads.emplace_back([&, r] {
      auto endpoint = make_shm_endpoint({.world = world.get()}, r);
      if (r == 2) endpoint = std::make_unique<ShortOfMemory>(std::move(endpoint));
      const auto communicator =
          make_schedule_communicator(make_schedule("ring", 4), std::move(endpoint), "test");
      const Pages data(1 << 20);
      const auto reduce = [&] {
        while (true) communicator->all_reduce(data.region(), data.region(), ReduceOp::max);
      };
      if (r == 2) {
        EXPECT_THROW(reduce(), std::bad_alloc);
        EXPECT_THROW(reduce(), std::bad_alloc);  // none starts any more
        return;
      }
      try {
        reduce();
      } catch (const TransportError& error) {
        if (std::string(error.what()).starts_with("rank 2 failed: ")) ++told;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 3);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace collbench
