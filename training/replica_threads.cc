#include "training/replica_threads.h"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/error.h"

namespace collbench {

void run_replica_threads(int count, const std::function<void(Rank)>& work,
                         const std::function<void(Rank)>& failed) {
  std::mutex mutex;
  std::exception_ptr cause;
  std::exception_ptr consequence;
  const auto run = [&](Rank rank) {
    try {
      work(rank);
      return;
    } catch (const TransportError&) {
      const std::lock_guard lock(mutex);
      if (!consequence) consequence = std::current_exception();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!cause) cause = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    failed(rank);
  };
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < count; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (cause) std::rethrow_exception(cause);
  if (consequence) std::rethrow_exception(consequence);
}

}  // namespace collbench
