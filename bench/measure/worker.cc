#include "bench/measure/worker.h"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include <sys/prctl.h>
#include <unistd.h>

#include "bench/measure/worker_protocol.h"
#include "core/error.h"
#include "transports/world/launcher_variables.h"
#include "transports/world/line_socket.h"
#include "transports/world/shared_memory.h"

namespace collbench {
namespace {

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Launchers of MPI tell each process its rank under one of these names.
Rank launched_rank() {
  for (const char* name : {open_mpi_variables.index, pmix_variables.index, pmi_variables.index}) {
    const std::string value = from_environment(name);
    if (!value.empty()) return std::stoi(value);
  }
  throw Unavailable("no launcher says which rank this is (OMPI_COMM_WORLD_RANK, PMI_RANK)");
}

std::string wait_for_line(LineSocket& socket) {
  for (;;) {
    if (auto line = socket.take_line()) return *line;
    if (!socket.receive()) throw TransportError("the team closed the connection");
  }
}

// Commands as they come, read by a thread of its own: it sees the end of the team while the main
// thread is deep in an all-reduce.
class Commands {
 public:
  explicit Commands(LineSocket& socket) : socket_(socket), reader_([this] { read(); }) {}
  ~Commands() {
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
    }
    socket_.shut_down();
    reader_.join();
  }

  /// Nothing once the team has closed the connection.
  std::optional<Command> next() {
    std::unique_lock lock(mutex_);
    busy_ = false;
    changed_.wait(lock, [&] { return ended_ || !lines_.empty(); });
    if (lines_.empty()) return std::nullopt;
    busy_ = true;
    const std::string line = std::move(lines_.front());
    lines_.pop_front();
    return read_command(line);
  }

 private:
  void read() {
    for (bool open = true; open; open = socket_.receive()) take_lines();
    const std::lock_guard lock(mutex_);
    ended_ = true;
    if (busy_) _exit(EXIT_FAILURE);  // nobody wants the result, and peers may never answer
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

CaseOutcome run_command(const Command& command, const Backend& backend, Control control,
                        WorkerContext& context) {
  SharedMemory arena;
  if (backend.arena_bytes != nullptr) {
    arena = SharedMemory::open(command.arena, backend.arena_bytes(command.which));
  }
  context.arena = arena.data();
  CaseOutcome outcome = run_worker_case(backend, command.which, command.sampling, control, context);
  context.arena = nullptr;
  return outcome;
}

// Runs the same from the first command to the end of the team.
void serve(LineSocket& socket, Rank rank, const std::string& token) {
  const Welcome welcome = read_welcome(wait_for_line(socket));
  const Backend& backend = find_backend(welcome.backend);
  const SharedMemory memory = SharedMemory::open(welcome.control, Control::bytes(welcome.ranks));
  const Control control = Control::attach(memory.data());
  WorkerContext context;
  context.rank = rank;
  context.ranks = welcome.ranks;
  context.job = token;
  Commands commands(socket);
  while (const auto command = commands.next()) {
    CaseOutcome outcome;
    try {
      outcome = run_command(*command, backend, control, context);
    } catch (...) {
      outcome = current_fault(rank);
      control.abort(std::get<Fault>(outcome));
    }
    // Others need not be told when only rank 0's figures count.
    if (rank != 0 && std::holds_alternative<Measurement>(outcome)) outcome = Measurement{};
    socket.send(to_line(outcome));
  }
}

}  // namespace

int worker_main(const std::vector<std::string>& args) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  require(args.size() == 2, "worker is for collbench's own use: worker SOCKET RANK");
  const Rank rank = args[1] == "-" ? launched_rank() : std::stoi(args[1]);
  const std::string token = from_environment("COLLBENCH_WORKER_TOKEN");
  LineSocket socket = connect_lines(args[0]);
  socket.send(to_line(Hello{rank, static_cast<int>(getpid()), token}));
  serve(socket, rank, token);
  return EXIT_SUCCESS;
}

}  // namespace collbench
