// Ranks as threads with a naive all-reduce between them: every rank adds up all inputs by itself.
//
// The oracle the sampler is tested with; a fault can be put into what one rank receives.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstring>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/sampler.h"
#include "transports/world/shared_rendezvous.h"

namespace collbench {

class NaiveWorld {
 public:
  /// Called with every result on its rank, before the call returns.
  using Fault = std::function<void(Rank, std::vector<float>&)>;

  explicit NaiveWorld(int ranks, Fault fault = {})
      : inputs_(static_cast<std::size_t>(ranks)), meet_(ranks), fault_(std::move(fault)) {}

  void all_reduce(Rank rank, Region in, Region out) {
    inputs_[static_cast<std::size_t>(rank)] = in.data;
    meet_.arrive_and_wait();
    std::vector<float> sum(static_cast<std::size_t>(in.count));
    for (const std::byte* input : inputs_) {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        float value = 0;
        std::memcpy(&value, input + 4 * i, 4);
        sum[i] += value;
      }
    }
    if (fault_) fault_(rank, sum);
    meet_.arrive_and_wait();
    std::ranges::copy(std::as_bytes(std::span(sum)), out.data);
    meet_.arrive_and_wait();
  }

 private:
  std::vector<const std::byte*> inputs_;
  std::barrier<> meet_;
  Fault fault_;
};

class NaiveCommunicator final : public Communicator {
 public:
  NaiveCommunicator(NaiveWorld& world, Rank rank, int ranks)
      : world_(world), rank_(rank), ranks_(ranks) {}
  Rank rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Seconds now() const override { return Seconds{static_cast<double>(monotonic_ns()) * 1e-9}; }
  void all_reduce(Region in, Region out, ReduceOp) override { world_.all_reduce(rank_, in, out); }
  void broadcast(Region, Rank) override {}
  void barrier() override {}
  std::string description() const override { return "naive sum"; }

 private:
  NaiveWorld& world_;
  Rank rank_;
  int ranks_;
};

/// Runs `part` as every rank, in threads; the first exception of a rank is thrown again.
inline void as_ranks(int ranks, const std::function<void(Rank, Rendezvous&)>& part,
                     Seconds timeout = Seconds{20}) {
  const auto memory = allocate_pages(Control::bytes(ranks));
  const Control control = Control::create(memory.get(), ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        SharedRendezvous rendezvous(control, rank, timeout);
        part(rank, rendezvous);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// Clocks by rank; empty means the real one.
using ClockOfRank = std::function<NanosecondClock(Rank)>;

/// Samples the case with naive communicators and gives every rank's measurement.
inline std::vector<Measurement> sample_naively(const Case& point, const Sampling& sampling,
                                               NaiveWorld::Fault fault = {},
                                               const ClockOfRank& clock_of = {}) {
  NaiveWorld world(point.workers, std::move(fault));
  std::vector<Measurement> measured(static_cast<std::size_t>(point.workers));
  as_ranks(point.workers, [&](Rank rank, Rendezvous& rendezvous) {
    NaiveCommunicator communicator(world, rank, point.workers);
    const UserBuffers buffers(point, allocate_pages(user_buffer_bytes(point)));
    const NanosecondClock clock = clock_of ? clock_of(rank) : monotonic_ns;
    measured[static_cast<std::size_t>(rank)] =
        sample(point, sampling, communicator, rendezvous, buffers, clock);
  });
  return measured;
}

}  // namespace collbench
