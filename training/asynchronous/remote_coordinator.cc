#include "training/asynchronous/remote_coordinator.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "training/asynchronous/coordinator_service.h"

namespace collbench {
namespace {

constexpr std::chrono::milliseconds between_tries{50};

/// Keeps a call open to a task; `ended` is called if it ends, for then the other side has ended.
class StandingCall {
 public:
  StandingCall(CallNetwork& network, const TaskAddress& task, std::string packet,
               std::function<void()> ended)
      : caller_(network.reach(task.words(), task.address)),
        thread_([caller = caller_.get(), packet = std::move(packet), ended = std::move(ended)] {
          try {
            caller->call(packet, Seconds{0});
          } catch (const CallError&) {
            ended();
          }
        }) {}
  ~StandingCall() {
    caller_->cancel();
    thread_.join();
  }
  StandingCall(const StandingCall&) = delete;
  StandingCall& operator=(const StandingCall&) = delete;

 private:
  std::unique_ptr<Caller> caller_;
  std::thread thread_;
};

void give_variables(const TrainingPlan& plan, const ServerRun& run, const TrainingState& state,
                    const Placement& placement, RemoteVariables& variables) {
  RunPatience patience(run);
  for (int server = 0; server < placement.servers(); ++server) {
    while (!variables.set(server, contents_of(plan, state, placement, server), run.timeout)) {
      patience.look(run.servers[static_cast<std::size_t>(server)].words());
      std::this_thread::sleep_for(between_tries);
    }
  }
}

}  // namespace

ServerReport coordinate(const TrainingPlan& plan, const ServerRun& run, const PlanValues& values,
                        const Dataset& data, const Dataset& held_out, const ReplicaHooks& hooks,
                        CallNetwork& network, const std::string& listen) {
  require(!run.servers.empty(), "There must be at least one ps.");
  require(!run.workers.empty(), "There must be at least one worker.");
  check(plan, data, plan.replicas);
  const Placement placement(tensors_of(plan.model), size_of(plan.type),
                            static_cast<int>(run.servers.size()));
  Closures closures = closures_of(plan, data, hooks);
  CoordinatorService service(run, values);
  const auto server =
      network.listen(listen, [&](const IncomingCall& call) { return service.answer(call); });
  RemoteVariables variables(network, run.servers, placement, run.timeout);
  std::atomic<bool> servers_may_end{false};
  std::deque<StandingCall> watch;
  ReplicaHooks own = hooks;
  own.stop_wanted = [&] {
    service.look_after_workers();
    return hooks.stop_wanted && hooks.stop_wanted();
  };
  const auto state = [&] {
    TrainingState gathered;
    gather_state(variables.contents(), placement, gathered);
    return gathered;
  };
  ServerReport report;
  std::string why;
  std::exception_ptr failure;
  try {
    give_variables(plan, run, first_state(plan, hooks.start), placement, variables);
    for (const TaskAddress& ps : run.servers) {
      watch.emplace_back(network, ps, request(Request::stay).take(), [&] {
        if (!servers_may_end) closures.fail(ps.words() + " was lost");
      });
    }
    service.begin(closures);
    const bool stopped = save_in_pauses(closures, own, state);
    report.workers = service.reports();
    if (stopped) report.workers[0].stopped_by = 0;
    conclude(plan, closures, state(), held_out, hooks, report);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    why = error.what();
  }
  servers_may_end = true;
  const bool begun = service.end(why);
  if (begun) service.wait_for_farewells();  // so that workers hear the cause, not its consequence
  for (int i = 0; i < placement.servers(); ++i) variables.finish(i, why);
  if (!begun) service.wait_for_farewells();
  if (failure) std::rethrow_exception(failure);
  for (int i = 0; i < placement.servers(); ++i) {
    report.server_bytes.push_back(placement.elements(i) * size_of(plan.type));
  }
  return report;
}

namespace {

/// A worker's requests to the chief.
class ChiefLine {
 public:
  ChiefLine(CallNetwork& network, const ServerRun& run, int index)
      : network_(network),
        run_(run),
        index_(index),
        caller_(network.reach(run.chief.words(), run.chief.address)) {}
  void join(const PlanValues& values, const std::string& unfit) {
    PacketWriter packet = request(Request::join);
    packet.number(index_).text(unfit).number(std::ssize(values));
    for (const auto& [name, value] : values) packet.text(name).text(value);
    RunPatience patience(run_);
    std::optional<std::string> answer;
    while (!(answer = reach_chief(packet.packet()))) {
      patience.look(run_.chief.words());
      std::this_thread::sleep_for(between_tries);
    }
    incarnation_ = PacketReader(*answer).number();
    // Should it end, the next request for a closure returns the reason.
    presence_.emplace(network_, run_.chief,
                      request(Request::stay).number(index_).number(incarnation_).take(), [] {});
  }

  std::optional<std::int64_t> next(const ClosureResult* result, bool leaves) {
    PacketWriter packet = request(Request::next);
    packet.number(index_).number(incarnation_).number(leaves ? 1 : 0);
    packet.number(result == nullptr ? 0 : 1);
    if (result != nullptr) write(*result, packet);
    std::int64_t step = -1;
    try {
      const std::string answer = caller_->call(packet.packet(), Seconds{0});
      step = PacketReader(answer).number();
    } catch (const CallError& error) {
      if (error.failure == CallFailure::refused) throw;
      throw TransportError(fmt::format("{} was lost: {}", run_.chief.words(), error.what()));
    }
    return step < 0 ? std::nullopt : std::optional(step);
  }

 private:
  std::optional<std::string> reach_chief(const std::string& packet) {
    try {
      return caller_->call(packet, run_.timeout);
    } catch (const CallError& error) {
      if (error.failure != CallFailure::absent) throw;
      return std::nullopt;
    }
  }

  CallNetwork& network_;
  const ServerRun& run_;
  int index_;
  std::int64_t incarnation_ = 0;
  std::unique_ptr<Caller> caller_;
  std::optional<StandingCall> presence_;
};

}  // namespace

std::int64_t work_for_chief(const TrainingPlan& plan, const ServerRun& run, int index,
                            const PlanValues& values, const std::string& unfit, const Dataset& data,
                            CallNetwork& network, const std::function<bool()>& stop) {
  ChiefLine chief(network, run, index);
  chief.join(values, unfit);
  const Placement placement(tensors_of(plan.model), size_of(plan.type),
                            static_cast<int>(run.servers.size()));
  RemoteVariables variables(network, run.servers, placement, run.timeout);
  std::int64_t done = 0;
  work_asynchronously(plan, data, variables, [&](const ClosureResult* result) {
    if (result != nullptr) ++done;
    return chief.next(result, result != nullptr && stop());
  });
  return done;
}

}  // namespace collbench
