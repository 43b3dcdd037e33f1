#include "training/asynchronous/remote_coordinator.h"

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "core/error.h"
#include "core/stop_request.h"
#include "training/asynchronous/coordinator_service.h"
#include "training/steady_time.h"

namespace collbench {
namespace {

constexpr std::chrono::milliseconds between_tries{50};

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

ServerReport coordinate(const TrainingPlan& plan, const ServerRun& run,
                        const std::vector<NamedValue>& values, const Dataset& data,
                        const Dataset& held_out, const ReplicaHooks& hooks, CallNetwork& network,
                        const std::string& listen) {
  require(!run.servers.empty(), "There must be at least one ps.");
  require(!run.workers.empty(), "There must be at least one worker.");
  check(plan, data, plan.replicas);
  const Placement placement(tensors_of(plan.model), size_of(plan.type),
                            static_cast<int>(run.servers.size()));
  Closures closures = closures_of(plan, data, hooks);
  CoordinatorService service(run, values);
  const auto server = network.listen(listen, handlers_of(service));
  RemoteVariables variables(network, run.servers, placement, run.timeout);
  ReplicaHooks own = hooks;
  own.stop_wanted = [&] {
    service.look_after_workers();
    if (const TaskAddress* ps = variables.lost()) closures.fail(ps->words() + " was lost");
    return hooks.stop_wanted && hooks.stop_wanted();
  };
  const auto state = [&] {
    TrainingState gathered;
    gather_state(variables.contents(), placement, gathered);
    return gathered;
  };
  ServerReport report;
  std::string why;
  bool is_stopped = false;
  std::exception_ptr failure;
  try {
    give_variables(plan, run, first_state(plan, hooks.start), placement, variables);
    service.begin(closures);
    const bool stopped = save_in_pauses(closures, own, state);
    report.workers = service.reports();
    if (stopped) report.workers[0].stopped_by = 0;
    conclude(plan, closures, state(), held_out, hooks, report);
  } catch (const std::exception& error) {
    failure = std::current_exception();
    why = error.what();
    is_stopped = dynamic_cast<const Stopped*>(&error) != nullptr;
  }
  const bool begun = service.end(why);
  if (begun) service.wait_for_farewells();  // so that workers report the cause, not its consequence
  for (int i = 0; i < placement.servers(); ++i) variables.finish(i, why);
  if (!begun && !is_stopped) service.wait_for_farewells();
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
      : run_(run), index_(index), caller_(network.reach(run.chief.words(), run.chief.address)) {}

  void join(const std::vector<NamedValue>& values, const std::string& unfit) {
    PacketWriter packet = request(Request::join);
    packet.number(index_).text(unfit).text(text_of(values));
    RunPatience patience(run_);
    while (!reached_chief(packet.packet())) {
      patience.look(run_.chief.words());
      std::this_thread::sleep_for(between_tries);
    }
  }

  std::optional<std::int64_t> next(const ClosureResult* result, bool leaves) {
    PacketWriter packet = request(Request::next);
    packet.number(index_).number(leaves ? 1 : 0);
    packet.number(result == nullptr ? 0 : 1);
    if (result != nullptr) write(*result, packet);
    if (caller_->lost()) throw_lost();
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

  /// Throws if the chief is lost, or is within the time that connections take to end together.
  void throw_if_lost() const {
    const Seconds begin = steady_now();
    while (steady_now() - begin < Seconds{0.5}) {
      if (caller_->lost()) throw_lost();
      std::this_thread::sleep_for(between_tries);
    }
  }

 private:
  [[noreturn]] void throw_lost() const { throw TransportError(run_.chief.words() + " was lost"); }

  bool reached_chief(const std::string& packet) {
    try {
      caller_->call(packet, run_.timeout);
      return true;
    } catch (const CallError& error) {
      if (error.failure != CallFailure::absent) throw;
      return false;
    }
  }

  const ServerRun& run_;
  int index_;
  std::unique_ptr<Caller> caller_;
};

}  // namespace

std::int64_t work_for_chief(const TrainingPlan& plan, const ServerRun& run, int index,
                            const std::vector<NamedValue>& values, const std::string& unfit,
                            const Dataset& data, CallNetwork& network,
                            const std::function<bool()>& stop) {
  ChiefLine chief(network, run, index);
  chief.join(values, unfit);
  const Placement placement(tensors_of(plan.model), size_of(plan.type),
                            static_cast<int>(run.servers.size()));
  RemoteVariables variables(network, run.servers, placement, run.timeout);
  std::int64_t done = 0;
  try {
    work_asynchronously(plan, data, variables, [&](const ClosureResult* result) {
      if (result != nullptr) ++done;
      return chief.next(result, result != nullptr && stop());
    });
  } catch (const TransportError&) {
    // Parameter servers end when the chief does, and their end may be seen first.
    chief.throw_if_lost();
    throw;
  }
  return done;
}

}  // namespace collbench
