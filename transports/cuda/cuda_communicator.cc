#include "transports/cuda/cuda_communicator.h"

#include <chrono>

#include <fmt/format.h>

#include "core/error.h"

namespace collbench {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

CudaGroup::CudaGroup(const CudaWorldOptions& options, PlayedSchedules played,
                     const std::string& name)
    : world_(options),
      schedules_(static_cast<int>(options.devices.size()), std::move(played), name),
      name_(name),
      calls_(options.devices.size()),
      visits_(options.devices.size()),
      meeting_(static_cast<int>(options.devices.size()), options.timeout) {}

std::string CudaGroup::description() const {
  return fmt::format("{} on {}, {} executor", name_, world_.description(),
                     to_string(options().executor));
}

void CudaGroup::meet(Rank rank, const CudaCall& call, Region in, Region out) {
  calls_[static_cast<std::size_t>(rank)] = call;
  visits_[static_cast<std::size_t>(rank)] = {in, out};
  meeting_.meet(rank, [this] { perform(); });
}

void CudaGroup::perform() {
  if (const std::string why = disagreement(calls_); !why.empty()) throw TransportError(why);
  const CudaCall& call = calls_[0];
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
