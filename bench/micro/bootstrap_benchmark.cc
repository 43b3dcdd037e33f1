// The bootstrap of a run's ranks (transports/world/bootstrap.h) as their number grows: every rank
// is a thread that connects, proves the token and learns all addresses over the loopback interface.
//
// Reported beside the time: the processor time of rank 0, which is what bounds a start on many
// machines.
#include <atomic>
#include <ctime>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <pthread.h>

#include "core/error.h"
#include "transports/world/bootstrap.h"
#include "transports/world/bootstrap_sockets.h"

namespace collbench {
namespace {

Seconds own_processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

struct Guest {
  Bootstrap bootstrap;
  std::atomic<int>* failures = nullptr;
};

void* attend(void* argument) {
  auto& guest = *static_cast<Guest*>(argument);
  try {
    meet(guest.bootstrap, 10'000 + guest.bootstrap.rank);
  } catch (const Error&) {
    ++*guest.failures;
  }
  return nullptr;
}

void meet_all(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  allow_descriptors(4 * static_cast<std::size_t>(ranks) + 256);
  Seconds host{0};
  std::atomic<int> failures = 0;
  for (auto _ : state) {
    Bootstrap bootstrap;
    bootstrap.listen = "127.0.0.1";
    bootstrap.address = "127.0.0.1:" + std::to_string(Reception("127.0.0.1:0", "rank 0", 1).port());
    bootstrap.ranks = ranks;
    bootstrap.version = "1";
    bootstrap.token = "a token of this benchmark";
    std::vector<Guest> guests(static_cast<std::size_t>(ranks), Guest{bootstrap, &failures});
    std::vector<pthread_t> threads(guests.size());
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    for (std::size_t r = 1; r < guests.size(); ++r) {
      guests[r].bootstrap.rank = static_cast<Rank>(r);
      if (pthread_create(&threads[r], &attributes, attend, &guests[r]) != 0) ++failures;
    }
    const Seconds before = own_processor_time();
    attend(&guests[0]);
    host = host + (own_processor_time() - before);
    for (std::size_t r = 1; r < threads.size(); ++r) pthread_join(threads[r], nullptr);
    pthread_attr_destroy(&attributes);
  }
  if (failures > 0) state.SkipWithError("a rank did not find the others");
  state.counters["rank0_ms"] = 1e3 * host.count() / static_cast<double>(state.iterations());
}
BENCHMARK(meet_all)
    ->Name("Meeting/all")
    ->Arg(16)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace collbench
