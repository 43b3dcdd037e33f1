#include "transports/world/worker.h"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include <sys/prctl.h>
#include <unistd.h>

#include "core/environment_variable.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/stop_request.h"
#include "transports/waiting.h"
#include "transports/world/backend.h"
#include "transports/world/launcher_variables.h"
#include "transports/world/line_socket.h"
#include "transports/world/shared_memory.h"
#include "transports/world/worker_protocol.h"

namespace collbench {
namespace {

constexpr Rank most_ranks = 1 << 24;

// MPI's launchers set each process's rank in one of these variables.
Rank launched_rank() {
  for (const char* name : {open_mpi_variables.index, pmix_variables.index, pmi_variables.index}) {
    const std::string value = environment_variable(name);
    if (!value.empty()) return static_cast<Rank>(parse_count(name, value, 0, most_ranks));
  }
  throw Unavailable("no launcher says which rank this is (OMPI_COMM_WORLD_RANK, PMI_RANK)");
}

/// Nothing once the world has closed the connection.
std::optional<std::string> wait_for_line(LineSocket& socket) {
  for (;;) {
    if (auto line = socket.take_line()) return line;
    if (!socket.receive()) return std::nullopt;
  }
}

// Orders as they come, read by a thread of its own: it sees the end of the world while the main
// thread is deep in an all-reduce.
class Orders {
 public:
  explicit Orders(LineSocket& socket) : socket_(socket), reader_([this] { read(); }) {}
  ~Orders() {
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
    }
    socket_.shut_down();
    reader_.join();
  }

  /// Nothing once the world has closed the connection.
  std::optional<WorkOrder> next() {
    std::unique_lock lock(mutex_);
    busy_ = false;
    changed_.wait(lock, [&] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) return std::nullopt;
    busy_ = true;
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    return read_order(line);
  }

 private:
  void read() {
    for (bool open = true; open; open = socket_.receive()) take_lines();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (busy_) _exit(EXIT_FAILURE);  // the result has no receiver, and peers may never answer
    changed_.notify_all();
  }

  // Some may have come together with the welcome, before anything is received here.
  void take_lines() {
    const std::lock_guard lock(mutex_);
    while (auto line = socket_.take_line()) lines_.push_back(std::move(*line));
    changed_.notify_all();
  }

  LineSocket& socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  bool busy_ = false;
  bool ended_ = false;
  std::thread reader_;
};

std::string carry_out(const WorkOrder& order, const OrderHandler& handler, const Backend& backend,
                      Control control, RankContext& context) {
  SharedMemory arena;
  if (backend.arena_bytes != nullptr) {
    arena = SharedMemory::open(order.arena, backend.arena_bytes(order.spec));
  }
  SharedRendezvous rendezvous(control, context.rank, order.timeout);
  context.rendezvous = &rendezvous;
  context.timeout = order.timeout;
  context.arena = arena.data();
  context.made = 0;
  try {
    std::string answer = handler(context, order.spec, order.text);
    context.arena = nullptr;
    return answer;
  } catch (...) {
    const Fault fault = current_fault(context.rank);
    control.abort(fault);
    if (backend.abort != nullptr) backend.abort(order.spec, context.arena, fault.what);
    context.communicator.reset();
    context.arena = nullptr;
    throw;
  }
}

// Runs from the first order to the end of the world. Whether the world began: one that fails while
// its ranks join says why itself.
bool serve(LineSocket& socket, Rank rank, const std::string& token, const OrderHandler& handler) {
  const std::optional<std::string> line = wait_for_line(socket);
  if (!line) return false;
  const Welcome welcome = read_welcome(*line);
  const Backend& backend = find_backend(welcome.backend);
  const SharedMemory memory = SharedMemory::open(welcome.control, Control::bytes(welcome.ranks));
  const Control control = Control::attach(memory.data());
  RankContext context;
  context.rank = rank;
  context.ranks = welcome.ranks;
  context.job = token;
  Orders orders(socket);
  while (const auto order = orders.next()) {
    OrderOutcome outcome;
    try {
      outcome = carry_out(*order, handler, backend, control, context);
    } catch (...) {
      const Fault fault = current_fault(rank);
      control.abort(fault);
      outcome = fault;
    }
    socket.send(to_line(outcome));
  }
  return true;
}

}  // namespace

int worker_main(const std::vector<std::string>& args, const OrderHandler& handler) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  watch_stop_signals();
  take_short_turns();
  require(args.size() == 2, "worker is for collbench's own use: worker SOCKET RANK");
  const Rank rank = args[1] == "-"
                        ? launched_rank()
                        : static_cast<Rank>(parse_count("worker RANK", args[1], 0, most_ranks));
  const std::string token = environment_variable("COLLBENCH_WORKER_TOKEN");
  LineSocket socket = connect_lines(args[0]);
  socket.send(to_line(Hello{rank, static_cast<int>(getpid()), token}));
  constexpr int run_failed = 5;  // docs/exit-codes.md
  return serve(socket, rank, token, handler) ? EXIT_SUCCESS : run_failed;
}

}  // namespace collbench
