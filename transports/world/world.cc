#include "transports/world/world.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <poll.h>

#include "core/error.h"
#include "core/keyed_digest.h"
#include "core/scratch_folder.h"
#include "core/stop_request.h"
#include "transports/world/bootstrap_messages.h"
#include "transports/world/bootstrap_sockets.h"
#include "transports/world/line_socket.h"
#include "transports/world/shared_memory.h"
#include "transports/world/shared_rendezvous.h"
#include "transports/world/thread_world.h"
#include "transports/world/worker_process.h"
#include "transports/world/worker_protocol.h"

namespace collbench {
namespace {

constexpr Seconds patience_with_survivors{2.0};  // after the first fault, for the others' words
constexpr Seconds patience_with_leavers{5.0};    // a process that was asked to end

std::string own_executable() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

// Nothing in what no worker has said.
std::optional<Hello> hello_in(const std::string& line) {
  try {
    return read_hello(line);
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

// A world whose ranks are processes of this machine: copies of this program as `worker`, started by
// us or by a launcher.
//
// A worker's end shows at once as the end of its socket, whatever the other ranks wait in. A worker
// that stands still shows in the control block, where every rank notes its progress. Either way the
// rank is named, the other ranks are ended, and everything is reaped: a world leaves no process, no
// file and no segment.
class ProcessWorld final : public World {
 public:
  /// Starts the workers. Throws TransportError naming the ranks that did not join in time.
  ProcessWorld(const WorldSpec& spec, Seconds timeout)
      : backend_(find_backend(spec.backend)),
        ranks_(spec.ranks),
        kind_(rank_kind(backend_, spec)),
        token_(random_digits()),
        control_memory_(SharedMemory::create(Control::bytes(spec.ranks))),
        control_(Control::create(control_memory_.data(), spec.ranks)),
        workers_(static_cast<std::size_t>(spec.ranks)) {
    allow_descriptors(descriptors_for(spec.ranks));  // the workers inherit it
    LineListener listener;
    std::vector<std::string> secret = {"COLLBENCH_WORKER_TOKEN=" + token_};
    try {
      if (kind_ == RankKind::launched) {
        // Open MPI's launcher does not always tidy up what it keeps of a job that broke.
        scratch_ = std::make_unique<ScratchFolder>("collbench-mpi");
        secret.push_back("TMPDIR=" + scratch_->path());
        std::vector<std::string> command = backend_.launcher(spec);
        command.insert(command.end(), {own_executable(), "worker", listener.name(), "-"});
        children_.emplace_back(command, secret, ChildStreams());
      }
      for (Rank rank = 0; kind_ == RankKind::processes && rank < ranks_; ++rank) {
        const std::vector<std::string> command = {own_executable(), "worker", listener.name(),
                                                  std::to_string(rank)};
        children_.emplace_back(command, secret, only_errors_shown);
      }
      welcome_all(listener, timeout);
    } catch (...) {
      end_workers(false);
      throw;
    }
  }

  ~ProcessWorld() override { end_workers(broken_.empty()); }

  const Backend& backend() const override { return backend_; }
  int ranks() const override { return ranks_; }
  RankRange own_ranks() const override { return {}; }
  /// Throws InvalidArgument for work that cannot be ordered by a text.
  void on_all(const WorldSpec& spec, Seconds timeout, const Work& work) override {
    if (!broken_.empty()) throw TransportError("the ranks cannot go on after: " + broken_);
    require(work.order != nullptr, "the ranks of " + backend_.name +
                                       " are processes here, which this work is not made for");
    spec_ = spec;
    timeout_ = timeout;
    stop_grace_ = work.stop_grace;
    control_ = Control::create(control_memory_.data(), ranks_);
    SharedMemory arena;
    if (backend_.arena_bytes != nullptr) {
      arena = SharedMemory::create(backend_.arena_bytes(spec));
      backend_.lay_out_arena(spec, arena.data(), timeout);
    }
    outcomes_.assign(workers_.size(), std::nullopt);
    const std::string path = arena.data() != nullptr ? arena.path() : "";
    for (Rank rank = 0; rank < ranks_; ++rank) {
      workers_[static_cast<std::size_t>(rank)].socket.send(
          to_line(WorkOrder{spec, timeout, work.order(rank), path}));
    }
    collect(arena.data());
    conclude();
    for (Rank rank = 0; work.answer && rank < ranks_; ++rank) {
      work.answer(rank, std::get<std::string>(*outcomes_[static_cast<std::size_t>(rank)]));
    }
  }

  std::vector<pid_t> processes() const override {
    std::vector<pid_t> pids;
    for (const JoinedWorker& worker : workers_) pids.push_back(worker.process.pid());
    return pids;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct JoinedWorker {
    LineSocket socket;
    ProcessHandle process;
  };

  void welcome_all(LineListener& listener, Seconds timeout) {
    const auto deadline = Clock::now() + timeout;
    // They have not said who they are. None is waited for: a worker may stand still right after it
    // connected, and any process of this user may connect.
    std::vector<LineSocket> callers;
    for (;;) {
      std::vector<Rank> missing;
      for (Rank rank = 0; rank < ranks_; ++rank) {
        if (!workers_[static_cast<std::size_t>(rank)].socket.is_open()) missing.push_back(rank);
      }
      if (missing.empty()) return;
      leave_if_stopped();
      if (auto socket = listener.accept(callers.empty() ? Seconds{0.05} : Seconds{0.002})) {
        callers.push_back(std::move(*socket));
      }
      // Not std::erase_if: has_spoken() takes over what it is asked about.
      for (auto caller = callers.begin(); caller != callers.end();) {
        caller = has_spoken(*caller) ? callers.erase(caller) : caller + 1;
      }
      for (const Rank rank : missing) {
        ChildProcess& child =
            children_[kind_ == RankKind::launched ? 0 : static_cast<std::size_t>(rank)];
        if (!child.ended()) continue;
        if (kind_ == RankKind::launched) {
          throw TransportError(name_ranks(missing) + " did not join: the launcher of " +
                               backend_.name + " " + *child.ended());
        }
        throw TransportError(name_ranks(std::span(&rank, 1)) + " " + *child.ended() +
                             " before it joined the others");
      }
      if (Clock::now() > deadline) {
        throw TransportError(name_ranks(missing) + " did not join within " + to_string(timeout));
      }
    }
  }

  // Whether a caller has nothing more to say to the listener: it has left, or said its line, or
  // more than a worker says. A worker's socket is kept.
  bool has_spoken(LineSocket& caller) {
    if (!caller.readable(std::chrono::milliseconds(0))) return false;
    const bool open = caller.receive();
    const std::optional<std::string> line = caller.take_line();
    if (!line) return !open || caller.received().size() > longest_hello;
    const std::optional<Hello> hello = hello_in(*line);
    if (!hello || hello->token != token_ || hello->rank < 0 || hello->rank >= ranks_) return true;
    caller.send(to_line(Welcome{ranks_, backend_.name, control_memory_.path()}));
    workers_[static_cast<std::size_t>(hello->rank)] = {std::move(caller),
                                                       ProcessHandle(hello->process)};
    return true;
  }

  // How a rank's process ended, as far as it can be known: launched workers are the launcher's.
  std::string end_of(Rank rank) {
    if (kind_ == RankKind::launched) return "ended";
    ChildProcess& child = children_[static_cast<std::size_t>(rank)];
    return child.ended_within(patience_with_survivors).value_or("closed its connection");
  }

  // Waits until every rank has answered. Ends the world if one is lost or stands still.
  void collect(std::byte* arena) {
    auto last_change = Clock::now();
    std::uint64_t progress = total_progress();
    std::optional<Clock::time_point> first_fault;
    for (std::vector<Rank> waiting = silent(); !waiting.empty(); waiting = silent()) {
      std::vector<pollfd> sockets;
      for (const Rank rank : waiting) {
        const int descriptor = workers_[static_cast<std::size_t>(rank)].socket.descriptor();
        sockets.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
      }
      poll(sockets.data(), sockets.size(), 50);
      const auto now = Clock::now();
      heed_stop_signal(arena, now - last_change);
      for (std::size_t i = 0; i < waiting.size(); ++i) {
        if (sockets[i].revents == 0) continue;
        receive_from(waiting[i]);
        last_change = now;
      }
      if (!lost_.empty()) {
        const Rank rank = lost_.front();
        give_up({FaultKind::transport, rank, name_ranks(std::span(&rank, 1)) + " " + end_of(rank)},
                arena);
      }
      if (const std::uint64_t seen = total_progress(); seen != progress) {
        progress = seen;
        last_change = now;
      }
      if (!first_fault && control_.fault()) first_fault = now;
      const bool survivors_late = first_fault && now - *first_fault > patience_with_survivors;
      const bool all_still = now - last_change > timeout_ + Seconds{1};
      if (!silent().empty() && (survivors_late || all_still)) give_up(stuck(), arena);
    }
  }

  // The ranks finish their case with what they have; a rank that does not is cut off. Those that
  // still progress, only slowly on a busy machine, get more time, and so do the last ones: rank 0
  // may have millions of samples to write down.
  void heed_stop_signal(std::byte* arena, Seconds still_for) {
    if (stop_signal() == 0) return;
    if (!std::exchange(stop_passed_on_, true)) {
      for (const JoinedWorker& worker : workers_) worker.process.signal(SIGTERM);
    }
    const Seconds waited = time_since_stop_signal();
    const bool some_answered = silent().size() < workers_.size();
    const Seconds grace = some_answered ? 4 * stop_grace_ : stop_grace_;
    const bool is_still = waited > grace && still_for > grace;
    if (is_still || (!some_answered && waited > 4 * stop_grace_)) give_up(stopped_fault(), arena);
  }

  // Takes what a worker says; notes its loss if its socket has ended.
  void receive_from(Rank rank) {
    const auto index = static_cast<std::size_t>(rank);
    LineSocket& socket = workers_[index].socket;
    if (!socket.receive()) {
      lost_.push_back(rank);
      return;
    }
    while (const auto line = socket.take_line()) outcomes_[index] = read_outcome(*line);
  }

  std::vector<Rank> silent() const {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if (!outcomes_[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
    }
    return ranks;
  }

  std::uint64_t total_progress() const {
    std::uint64_t total = 0;
    for (Rank rank = 0; rank < ranks_; ++rank) {
      const RankSlot& slot = control_.slot(rank);
      total += slot.progress.load() + slot.barriers.load();
    }
    return total;
  }

  // Which of the silent ranks holds the others up: those stopped by a signal, else those that have
  // made the least progress.
  Fault stuck() const {
    std::vector<Rank> stopped;
    std::vector<Rank> behind;
    std::uint64_t least = ~std::uint64_t{0};
    for (const Rank rank : silent()) {
      if (workers_[static_cast<std::size_t>(rank)].process.stopped()) stopped.push_back(rank);
      const std::uint64_t progress = control_.slot(rank).progress.load();
      if (progress < least) behind.clear();
      least = std::min(least, progress);
      if (progress == least) behind.push_back(rank);
    }
    const bool by_signal = !stopped.empty();
    const std::vector<Rank>& named = by_signal ? stopped : behind;
    std::string what = name_ranks(named) + " did not answer within " + to_string(timeout_);
    if (by_signal) what += named.size() == 1 ? " (its process is stopped)" : " (processes stopped)";
    return {FaultKind::transport, named.front(), what};
  }

  void give_up(const Fault& fault, std::byte* arena) {
    broken_ = fault.what;
    control_.abort(fault);
    if (backend_.abort != nullptr) backend_.abort(spec_, arena, fault.what);
    end_workers(false);
    throw TransportError(fault.what);
  }

  // Throws the first fault, if there is one. If every rank refused, nothing was exchanged, and the
  // world can go on.
  void conclude() {
    bool refused = true;
    std::optional<Fault> first = control_.fault();
    for (const auto& outcome : outcomes_) {
      const Fault* fault = outcome ? std::get_if<Fault>(&*outcome) : nullptr;
      if (fault != nullptr && !first) first = *fault;
      refused = refused && fault != nullptr && is_refusal(*fault);
    }
    if (!first) return;
    if (!refused) {
      broken_ = first->what;
      end_workers(false);
    }
    raise(*first);
  }

  // Closing the sockets tells idle workers to leave. Those that do not, or are not asked, are
  // killed; a launcher ends its workers itself, so that it can clean up after them.
  void end_workers(bool kindly) {
    std::vector<ProcessHandle> processes;
    for (JoinedWorker& worker : workers_) processes.push_back(std::move(worker.process));
    workers_.clear();
    const auto kill_all = [&] {
      for (const ProcessHandle& process : processes) process.signal(SIGKILL);
    };
    if (kind_ == RankKind::launched && !children_.empty()) {
      ChildProcess& launcher = children_.front();
      if (!kindly || !launcher.ended_within(patience_with_leavers)) launcher.signal(SIGTERM);
      if (!launcher.ended_within(patience_with_leavers)) kill_all();
      launcher.ended_within(patience_with_leavers);
    } else if (kindly) {
      const auto deadline = Clock::now() + patience_with_leavers;
      for (ChildProcess& child : children_) child.ended_within(deadline - Clock::now());
    } else {
      kill_all();
    }
    children_.clear();
  }

  const Backend& backend_;
  int ranks_;
  RankKind kind_;
  std::string token_;
  SharedMemory control_memory_;
  Control control_;
  std::unique_ptr<ScratchFolder> scratch_;  // of a launcher; outlives it
  std::vector<ChildProcess> children_;      // the workers by rank, or the launcher alone
  std::vector<JoinedWorker> workers_;
  WorldSpec spec_;  // of the work under way, as is its timeout
  Seconds timeout_{0};
  std::vector<std::optional<OrderOutcome>> outcomes_;
  std::vector<Rank> lost_;  // ranks whose socket has ended
  std::string broken_;      // why the world cannot go on
  Seconds stop_grace_{0};   // of the work under way
  bool stop_passed_on_ = false;
};

}  // namespace

std::unique_ptr<World> start_world(const WorldSpec& spec, Seconds timeout) {
  const Backend& backend = find_backend(spec.backend);
  require_usable(backend);
  require_possible(spec);
  if (rank_kind(backend, spec) == RankKind::threads) return std::make_unique<ThreadWorld>(spec);
  return std::make_unique<ProcessWorld>(spec, timeout);
}

}  // namespace collbench
