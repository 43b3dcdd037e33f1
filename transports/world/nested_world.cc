#include "transports/world/nested_world.h"

#include <string>

#include <fmt/format.h>

#include "algorithms/rooted.h"
#include "core/error.h"
#include "transports/kernels/kernels.h"

namespace collbench {
namespace {

/// `within` joins the threads of a worker and reduces to its rank 0; `across` joins the first
/// threads of all workers, and is null on others.
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
      if (op == ReduceOp::avg) divide(out, {op, ranks()});
    }
    within_.broadcast(out, 0);
  }
  void broadcast(Region region, Rank root) override {
    const int worker = root / within_.ranks();
    if (worker == worker_) within_.broadcast(region, root % within_.ranks());
    if (across_ != nullptr) across_->broadcast(region, worker);
    within_.broadcast(region, 0);
  }
  /// All-reduces; the others only where each worker is one thread.
  void perform(const Collective& collective, Region in, Region out, ReduceOp op) override {
    if (within_.ranks() > 1) return Communicator::perform(collective, in, out, op);
    across_->perform(collective, in, out, op);
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

WorldSpec threads_of_a_worker(int threads) {
  require(threads >= 1, fmt::format("a worker has at least 1 replica, not {}", threads));
  WorldSpec spec;
  spec.ranks = threads;
  spec.algorithm = "to the first thread";
  spec.schedules = [threads](Bytes, DataType) { return reduce_to_one(threads); };
  return spec;
}

}  // namespace

NestedWorld::NestedWorld(World& workers, int threads)
    : workers_(workers), threads_(threads_of_a_worker(threads)) {
  require(workers.own_ranks().count == 1, "each worker must be a process of its own");
}

RankRange NestedWorld::own_ranks() const {
  return {workers_.own_ranks().first * threads_.ranks(), threads_.ranks()};
}

Communicator& NestedWorld::communicator(const WorldSpec&, RankContext& context) {
  return *context.communicator;
}

void NestedWorld::on_all(const WorldSpec& spec, Seconds timeout, const Work& work) {
  const WorldSpec inner = threads_of_a_worker(threads_.ranks());
  const auto as_worker = [&](RankContext& worker) {
    Communicator& across = workers_.communicator(spec, worker);
    const auto as_thread = [&](RankContext& thread) {
      Communicator& within = threads_.communicator(inner, thread);
      // Other threads may read what it holds until all have finished, also when this one fails.
      const auto context = std::make_shared<RankContext>();
      thread.kept = context;
      context->rank = worker.rank * threads_.ranks() + thread.rank;
      context->ranks = ranks();
      context->timeout = timeout;
      context->communicator = std::make_unique<HierarchicalCommunicator>(
          within, thread.rank == 0 ? &across : nullptr, workers_.ranks(), worker.rank);
      work.run(*context);
    };
    threads_.on_all(inner, timeout, {.run = as_thread, .order = {}, .answer = {}});
  };
  workers_.on_all(spec, timeout, {.run = as_worker, .order = {}, .answer = {}});
}

}  // namespace collbench
