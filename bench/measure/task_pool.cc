#include "bench/measure/task_pool.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <memory>
#include <vector>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "transports/world/line_socket.h"

namespace collbench {
namespace {

constexpr int idle = -1;
constexpr int stop_poll_ms = 100;
constexpr char success = '+';
constexpr char failure = '-';
constexpr char wrong_result = '!';

std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The child: answers every task number with one line, until the socket ends.
[[noreturn]] void serve(LineSocket socket, const std::function<std::string(int)>& work) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);  // the parent decides what an interrupt means
  while (socket.receive()) {
    while (const auto line = socket.take_line()) {
      std::string answer;
      try {
        answer = success + work(std::stoi(*line));
      } catch (const WrongResult& e) {
        answer = wrong_result + in_one_line(e.what());
      } catch (const std::exception& e) {
        answer = failure + in_one_line(e.what());
      }
      if (!socket.send(answer)) _exit(0);
    }
  }
  _exit(0);
}

/// One child process; killed and reaped with the object.
class PoolWorker {
 public:
  explicit PoolWorker(const std::function<std::string(int)>& work) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw Unavailable(std::string("cannot start a process: ") + std::strerror(errno));
    }
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      serve(LineSocket(ends[1]), work);
    }
    close(ends[1]);
    socket_ = LineSocket(ends[0]);
    if (pid_ < 0) throw Unavailable(std::string("cannot start a process: ") + std::strerror(errno));
  }
  PoolWorker(const PoolWorker&) = delete;
  PoolWorker& operator=(const PoolWorker&) = delete;
  ~PoolWorker() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  int task() const { return task_; }
  int descriptor() const { return socket_.descriptor(); }

  void give(int task) {
    task_ = task;
    socket_.send(std::to_string(task));  // a dead child is met when its answer is read
  }

  /// The result if it is whole. Sets `alive` to false if the process ended, with the reason.
  bool take(TaskResult& result, bool& alive) {
    alive = socket_.receive();
    const auto line = socket_.take_line();
    result = {task_, {}, {}, false};
    if (line) {
      (line->front() == success ? result.line : result.failure) = line->substr(1);
      result.wrong = line->front() == wrong_result;
    } else if (alive) {
      return false;
    } else {
      result.failure = ending();
    }
    task_ = idle;
    return true;
  }

 private:
  std::string ending() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (WIFSIGNALED(status)) {
      return std::string("its process was killed by signal ") + strsignal(WTERMSIG(status));
    }
    return "its process ended with code " + std::to_string(WEXITSTATUS(status));
  }

  pid_t pid_ = -1;
  LineSocket socket_;
  int task_ = idle;
};

}  // namespace

void run_tasks(int tasks, int jobs, const std::function<std::string(int task)>& work,
               const std::function<void(const TaskResult&)>& done,
               const std::function<bool()>& stop) {
  std::vector<std::unique_ptr<PoolWorker>> workers;
  for (int j = 0; j < std::min(jobs, tasks); ++j) {
    workers.push_back(std::make_unique<PoolWorker>(work));
  }
  int next = 0;
  int open = tasks;
  for (const auto& worker : workers) worker->give(next++);
  while (open > 0 && !stop()) {
    std::vector<pollfd> waiting;
    for (const auto& worker : workers) {
      waiting.push_back({worker->task() == idle ? -1 : worker->descriptor(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), stop_poll_ms) <= 0) continue;
    for (std::size_t w = 0; w < workers.size(); ++w) {
      if (waiting[w].revents == 0) continue;
      TaskResult result;
      bool alive = true;
      if (!workers[w]->take(result, alive)) continue;
      if (!alive && next < tasks) workers[w] = std::make_unique<PoolWorker>(work);
      if (next < tasks) workers[w]->give(next++);
      --open;
      done(result);
    }
  }
}

}  // namespace collbench
