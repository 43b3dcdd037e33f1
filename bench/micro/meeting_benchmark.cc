// The meeting of a run's ranks (transports/world/meeting.h) as their number grows: every rank is a
// thread that connects, proves the token and learns all addresses over the loopback interface.
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
#include "transports/world/meeting.h"
#include "transports/world/meeting_sockets.h"

namespace collbench {
namespace {

Seconds own_processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return Seconds{static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

struct Guest {
  Meeting meeting;
  std::atomic<int>* failures = nullptr;
};

void* attend(void* argument) {
  auto& guest = *static_cast<Guest*>(argument);
  try {
    meet(guest.meeting, 10'000 + guest.meeting.rank);
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
    Meeting meeting;
    meeting.listen = "127.0.0.1";
    meeting.address = "127.0.0.1:" + std::to_string(port_of(listen_at("127.0.0.1:0", "rank 0")));
    meeting.ranks = ranks;
    meeting.version = "1";
    meeting.token = "a token of this benchmark";
    std::vector<Guest> guests(static_cast<std::size_t>(ranks), Guest{meeting, &failures});
    std::vector<pthread_t> threads(guests.size());
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    for (std::size_t r = 1; r < guests.size(); ++r) {
      guests[r].meeting.rank = static_cast<Rank>(r);
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
