// A world whose ranks are threads of this process. Between two pieces of work they sleep.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transports/world/shared_rendezvous.h"
#include "transports/world/world.h"

namespace collbench {

class ThreadWorld final : public World {
 public:
  /// Throws TransportError if not all of its threads can be started.
  explicit ThreadWorld(const WorldSpec& spec);
  ~ThreadWorld() override;

  const Backend& backend() const override { return backend_; }
  int ranks() const override { return ranks_; }
  RankRange own_ranks() const override { return {0, ranks_}; }
  void on_all(const WorldSpec& spec, Seconds timeout, const Work& work) override;
  std::vector<pid_t> processes() const override { return {}; }

 private:
  void join_all();
  void live(Rank rank);
  bool run(RankContext& context);
  void abort_all(const Fault& fault);
  void run_on_all();
  void throw_failure();

  const Backend& backend_;
  int ranks_;
  std::shared_ptr<std::byte> control_memory_;
  Control control_;
  std::string broken_;  // why the world cannot go on

  std::mutex mutex_;
  std::condition_variable changed_;
  const WorldSpec* spec_ = nullptr;  // of the work under way, as is what follows
  const Work* work_ = nullptr;
  Seconds timeout_{0};
  std::byte* arena_ = nullptr;
  std::shared_ptr<void> shared_;
  std::vector<std::exception_ptr> failures_;  // in the order in which they happened
  int refusals_ = 0;  // ranks that found the work unavailable or an argument invalid
  std::uint64_t started_ = 0;
  int unfinished_ = 0;  // ranks that still work, and as many that still clean up
  bool leaving_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace collbench
