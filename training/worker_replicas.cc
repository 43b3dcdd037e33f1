#include "training/worker_replicas.h"

#include <fmt/format.h>

#include "core/error.h"
#include "training/gradient_schedule.h"
#include "training/replica_threads.h"
#include "training/wire_type.h"
#include "transports/play/schedule_communicator.h"
#include "transports/shm/shm_world.h"

namespace collbench {
namespace {

class HierarchicalCommunicator final : public Communicator {
 public:
  HierarchicalCommunicator(Communicator& within, Communicator* across, int workers, int worker)
      : within_(within), across_(across), workers_(workers), worker_(worker) {}

  Rank rank() const override { return worker_ * within_.ranks() + within_.rank(); }
  int ranks() const override { return workers_ * within_.ranks(); }
  Seconds now() const override { return within_.now(); }

  void all_reduce(Region in, Region out, ReduceOp op) override {
    const ReduceOp part = op == ReduceOp::avg ? ReduceOp::sum : op;
    within_.all_reduce(in, out, part);
    if (across_ != nullptr) {
      across_->all_reduce(out, out, part);
      if (op == ReduceOp::avg) scale(out, 1.0 / ranks());
    }
    within_.broadcast(out, 0);
  }
  void broadcast(Region region, Rank root) override {
    const int worker = root / within_.ranks();
    if (worker == worker_) within_.broadcast(region, root % within_.ranks());
    if (across_ != nullptr) across_->broadcast(region, worker);
    within_.broadcast(region, 0);
  }
  void barrier() override {
    within_.barrier();
    if (across_ != nullptr) across_->barrier();
    within_.barrier();
  }
  std::string description() const override {
    return fmt::format("{} threads of each of {} workers", within_.ranks(), workers_);
  }

 private:
  Communicator& within_;
  Communicator* across_;
  int workers_;
  int worker_;
};

/// What threads may read of each other until all have left; the first member ends last.
struct Kept {
  std::unique_ptr<Communicator> within;
  std::unique_ptr<Communicator> all;
  std::shared_ptr<void> replica;
};

}  // namespace

std::unique_ptr<Communicator> make_hierarchical_communicator(Communicator& within,
                                                             Communicator* across, int workers,
                                                             int worker) {
  return std::make_unique<HierarchicalCommunicator>(within, across, workers, worker);
}

std::vector<ReplicaReport> train_worker_replicas(const TrainingPlan& plan, int replicas,
                                                 Communicator& across, const Dataset& data,
                                                 const Dataset& held_out,
                                                 const ReplicaHooks& hooks) {
  require(replicas >= 1, fmt::format("a worker has at least 1 replica, not {}", replicas));
  const std::shared_ptr<std::byte> world = allocate_shm_world(replicas, {});
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(replicas));
  std::vector<Kept> kept(reports.size());
  const auto train = [&](Rank local) {
    const auto place = static_cast<std::size_t>(local);
    Kept& own = kept[place];
    own.within = make_schedule_communicator(reduce_to_one(replicas),
                                            make_shm_endpoint({.world = world.get()}, local),
                                            "to the first thread over shared memory");
    own.all = make_hierarchical_communicator(*own.within, local == 0 ? &across : nullptr,
                                             across.ranks(), across.rank());
    ReplicaHooks mine = hooks;
    if (local != 0) mine.on_step = {}, mine.stop_wanted = {};
    reports[place] = train_replica(plan, data, held_out, *own.all, mine, &own.replica);
  };
  run_replica_threads(replicas, train, [&](Rank local) {
    abort_shm_world(world.get(), fmt::format("replica {} has failed", local));
  });
  return reports;
}

}  // namespace collbench
