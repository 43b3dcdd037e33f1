#include "transports/cuda/cuda_communicator.h"

#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "transports/waiting.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int polls_before_yield = 2000;

}  // namespace

CudaGroup::CudaGroup(const CudaWorldOptions& options, PlayedSchedules played,
                     const std::string& name)
    : world_(options),
      schedules_(static_cast<int>(options.devices.size()), std::move(played), name),
      name_(name),
      calls_(options.devices.size()),
      visits_(options.devices.size()),
      here_(options.devices.size()) {}

std::string CudaGroup::description() const {
  return fmt::format("{} on {}, {} executor", name_, world_.description(),
                     to_string(options().executor));
}

void CudaGroup::abort(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (aborted_) return;
  why_ = why;
  aborted_ = true;
}

void CudaGroup::meet(Rank rank, const CudaCall& call, Region in, Region out) {
  const std::uint64_t round = round_.load(std::memory_order_acquire);
  calls_[static_cast<std::size_t>(rank)] = call;
  visits_[static_cast<std::size_t>(rank)] = {in, out};
  here_[static_cast<std::size_t>(rank)].store(round + 1, std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == world_.ranks()) {
    perform();
    arrived_.store(0, std::memory_order_relaxed);
    round_.store(round + 1, std::memory_order_release);
  } else {
    wait_for(round);
  }
  if (failure_) std::rethrow_exception(failure_);
}

// Run by the last rank to arrive; a failure fails all ranks, now and later.
void CudaGroup::perform() {
  if (failure_) return;
  try {
    if (const std::string why = disagreement(calls_); !why.empty()) throw TransportError(why);
    play(calls_[0]);
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void CudaGroup::play(const CudaCall& call) {
  if (!call.collective || call.count == 0) return;
  std::vector<Region> in;
  std::vector<Region> out;
  for (const auto& [from, to] : visits_) {
    in.push_back(from);
    out.push_back(to);
  }
  world_.play({CudaSchedules::key(call), call.op, in, out, *call.collective, call.in_place},
              schedules_.of(call));
}

void CudaGroup::wait_for(std::uint64_t round) {
  const auto deadline = Clock::now() + options().timeout;
  for (int polls = 0; round_.load(std::memory_order_acquire) == round; ++polls) {
    if (aborted_) throw TransportError(reason());
    if (polls < polls_before_yield) {
      pause_processor();
      continue;
    }
    std::this_thread::yield();
    // The last rank to arrive may be working on the devices, which has its own time limit.
    if (Clock::now() > deadline && arrived_.load() < world_.ranks()) give_up(round);
  }
}

void CudaGroup::give_up(std::uint64_t round) {
  std::vector<std::size_t> missing;
  for (std::size_t r = 0; r < here_.size(); ++r) {
    if (here_[r].load() <= round) missing.push_back(r);
  }
  abort(fmt::format("rank(s) {} did not come to the collective on the GPUs within {}",
                    fmt::join(missing, ", "), to_string(options().timeout)));
  throw TransportError(reason());
}

std::string CudaGroup::reason() {
  const std::lock_guard lock(mutex_);
  return why_;
}

namespace {

class CudaCommunicator final : public CudaCollectives {
 public:
  CudaCommunicator(std::shared_ptr<CudaGroup> group, Rank rank)
      : group_(std::move(group)), rank_(rank) {
    require(rank >= 0 && rank < ranks(),
            "cuda: rank " + std::to_string(rank) + " is not below " + std::to_string(ranks()));
  }
  Rank rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(group_->options().devices.size()); }
  Seconds now() const override { return Clock::now().time_since_epoch(); }
  std::string description() const override { return group_->description(); }

  void barrier() override { group_->meet(rank_, {}, {}, {}); }

 private:
  void play(const CudaCall& call, Region in, Region out) override {
    group_->meet(rank_, call, in, out);
  }

  std::shared_ptr<CudaGroup> group_;
  Rank rank_;
};

}  // namespace

std::unique_ptr<Communicator> make_cuda_communicator(std::shared_ptr<CudaGroup> group, Rank rank) {
  return std::make_unique<CudaCommunicator>(std::move(group), rank);
}

}  // namespace collbench
