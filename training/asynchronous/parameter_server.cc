#include "training/asynchronous/parameter_server.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "core/available_memory.h"
#include "core/error.h"
#include "core/start_threads.h"
#include "training/local_replica.h"

namespace collbench {
namespace {

constexpr Seconds between_wishes{0.1};  // to stop

Region region_of(const std::vector<double>& flat) {
  auto* data = const_cast<double*>(flat.data());
  return {reinterpret_cast<std::byte*>(data), std::ssize(flat), DataType::f64};
}

std::vector<double> packed(const std::vector<double>& flat, const Placement& placement,
                           int server) {
  std::vector<double> values(static_cast<std::size_t>(placement.elements(server)));
  placement.pack(region_of(flat), server, std::as_writable_bytes(std::span(values)));
  return values;
}

/// The servers of one process.
class LocalServers final : public SharedVariables {
 public:
  LocalServers(const Placement& placement, std::vector<std::unique_ptr<VariableStore>>& stores)
      : placement_(placement), stores_(stores), seen_(stores.size()), packed_(stores.size()) {
    for (std::size_t i = 0; i < stores.size(); ++i) {
      packed_[i].resize(static_cast<std::size_t>(stores[i]->value_bytes()));
    }
  }

  void read(Region values, Region statistics) override {
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      const std::span all(statistics.data, static_cast<std::size_t>(statistics.size().count));
      seen_[i] = stores_[i]->read(packed_[i], i == 0 ? all : std::span<std::byte>());
      placement_.unpack(packed_[i], static_cast<int>(i), values);
    }
  }

  std::int64_t update(Region gradients, Region moves) override {
    std::int64_t most = 0;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      const std::span all(moves.data, static_cast<std::size_t>(moves.size().count));
      placement_.pack(gradients, static_cast<int>(i), packed_[i]);
      most = std::max(
          most, stores_[i]->update(packed_[i], i == 0 ? all : std::span<std::byte>()) - seen_[i]);
    }
    return most;
  }

 private:
  const Placement& placement_;
  std::vector<std::unique_ptr<VariableStore>>& stores_;
  std::vector<std::int64_t> seen_;
  std::vector<std::vector<std::byte>> packed_;
};

/// Throws as require_available() does where the workers and the servers do not fit together: the
/// servers' values and slots, and the state in f64 that these begin with.
void require_memory(const TrainingPlan& plan, int workers) {
  const auto slots = std::ssize(slot_names(plan.optimizer));
  const Bytes servers = Bytes{8 + size_of(plan.type) * (1 + slots)} * parameters_of(plan.model);
  require_available(least_memory(plan, plan.replicas) * workers + servers,
                    fmt::format("{} workers of {} and their servers", workers, plan.model.name));
}

}  // namespace

TrainingState first_state(const TrainingPlan& plan, const TrainingState* start) {
  if (start != nullptr) return *start;
  TrainingState state;
  store(*make_network(plan, 1), state);
  return state;
}

StoreContents contents_of(const TrainingPlan& plan, const TrainingState& state,
                          const Placement& placement, int server) {
  StoreContents contents{plan.engine, plan.type, plan.optimizer, {}, {}, {}, {}};
  for (const VariableShard& shard : placement.shards(server)) {
    contents.shards.push_back(shard.count);
  }
  contents.values = packed(state.parameters, placement, server);
  if (server == 0) contents.statistics = state.statistics;
  contents.state.updates = state.optimizer.updates;
  for (const std::vector<double>& slot : state.optimizer.slots) {
    contents.state.slots.push_back(packed(slot, placement, server));
  }
  return contents;
}

void gather_state(const std::vector<StoreContents>& servers, const Placement& placement,
                  TrainingState& state) {
  std::size_t elements = 0;
  for (const StoreContents& server : servers) elements += server.values.size();
  state.parameters.resize(elements);
  state.statistics = servers[0].statistics;
  state.optimizer.updates = 0;
  state.optimizer.slots.assign(slot_names(servers[0].optimizer).size(),
                               std::vector<double>(elements));
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const auto server = static_cast<int>(i);
    placement.unpack(std::as_bytes(std::span(servers[i].values)), server,
                     region_of(state.parameters));
    // A server without shards has an optimizer of nothing.
    for (std::size_t slot = 0; slot < servers[i].state.slots.size(); ++slot) {
      placement.unpack(std::as_bytes(std::span(servers[i].state.slots[slot])), server,
                       region_of(state.optimizer.slots[slot]));
    }
    state.optimizer.updates = std::max(state.optimizer.updates, servers[i].state.updates);
  }
}

Closures closures_of(const TrainingPlan& plan, const Dataset& data, const ReplicaHooks& hooks) {
  const std::int64_t steps = steps_per_epoch(plan, data, plan.replicas);
  const std::int64_t every = plan.save_every > 0 ? plan.save_every : steps;
  const std::int64_t begin = hooks.start == nullptr ? 0 : hooks.start->step;
  return {begin, plan.epochs * steps, steps, hooks.save ? every : 0, hooks.start, hooks};
}

bool save_in_pauses(Closures& closures, const ReplicaHooks& hooks,
                    const std::function<TrainingState()>& state) {
  bool stopped = false;
  for (;;) {
    const auto pause = closures.wait_for_pause(between_wishes);
    if (!stopped && hooks.stop_wanted && hooks.stop_wanted()) {
      stopped = true;
      closures.stop();
      continue;
    }
    if (!pause) continue;
    if (hooks.save) {
      TrainingState all = state();
      closures.describe(all);
      hooks.save(all);
    }
    if (closures.finished()) return stopped;
    closures.go_on();
  }
}

void conclude(const TrainingPlan& plan, const Closures& closures, const TrainingState& state,
              const Dataset& held_out, const ReplicaHooks& hooks, ServerReport& report) {
  ReplicaReport& first = report.workers[0];
  first.epochs = closures.epochs();
  first.first_step = hooks.start == nullptr ? 0 : hooks.start->step;
  first.parameters = state.parameters;
  report.mean_staleness = closures.mean_staleness();
  report.most_staleness = closures.most_staleness();
  report.repeated = closures.repeated();
  if (held_out.size() == 0) return;
  const auto network = make_network(plan, plan.global_batch);
  load(state, *network);
  first.held_out_accuracy = evaluate(*network, held_out, plan.global_batch).accuracy;
}

ServerReport train_parameter_server(const TrainingPlan& plan, int workers, int servers,
                                    const Dataset& data, const Dataset& held_out,
                                    const ReplicaHooks& hooks) {
  require(servers >= 1, "There must be at least one ps.");
  require(workers >= 1, "There must be at least one worker.");
  check(plan, data, plan.replicas);
  require_memory(plan, workers);
  const Placement placement(tensors_of(plan.model), size_of(plan.type), servers);
  std::vector<std::unique_ptr<VariableStore>> stores;
  const TrainingState first = first_state(plan, hooks.start);
  for (int server = 0; server < servers; ++server) {
    stores.push_back(std::make_unique<VariableStore>(contents_of(plan, first, placement, server)));
  }
  Closures closures = closures_of(plan, data, hooks);
  const auto state = [&] {
    std::vector<StoreContents> all;
    for (const auto& store : stores) all.push_back(store->contents());
    TrainingState gathered;
    gather_state(all, placement, gathered);
    return gathered;
  };
  ServerReport report;
  report.workers.resize(static_cast<std::size_t>(workers));
  std::exception_ptr failure;
  std::mutex mutex;
  const auto fail = [&] {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::current_exception();
    closures.fail("another worker has failed");
  };
  const auto work = [&](int worker) {
    auto& steps = report.workers[static_cast<std::size_t>(worker)].steps;
    const auto caller = static_cast<CallerNumber>(worker);
    try {
      LocalServers variables(placement, stores);
      work_asynchronously(plan, data, variables, [&](const ClosureResult* result) {
        if (result != nullptr) {
          steps.push_back(result->times);
          closures.done(caller, *result);
        }
        return closures.take(caller, [] { return false; });
      });
    } catch (...) {
      fail();
    }
  };
  std::vector<std::thread> threads;
  bool stopped = false;
  try {
    start_threads(workers, work, threads);
    stopped = save_in_pauses(closures, hooks, state);
  } catch (...) {
    fail();
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  if (stopped) report.workers[0].stopped_by = 0;
  for (const auto& store : stores) report.server_bytes.push_back(store->value_bytes());
  conclude(plan, closures, state(), held_out, hooks, report);
  return report;
}

}  // namespace collbench
