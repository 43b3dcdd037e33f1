#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/team_cases.h"

#include "bench/measure/measure_case.h"
#include "bench/measure/team.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/stop_request.h"
#include "transports/world/line_socket.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::SizeIs;

Case isolated(const std::string& algorithm, int workers, std::int64_t bytes = 40'000) {
  Case point = team_case("shm", algorithm, workers, bytes);
  point.isolate = true;
  return point;
}

// Runs a case without end, does `harm` to the workers meanwhile, and gives what the team says.
std::string words_after(const Case& point, Seconds timeout,
                        const std::function<void(const std::vector<pid_t>&)>& harm) {
  Sampling sampling = quick(2'000'000'000);
  sampling.timeout = timeout;
  StartedTeam team(start_world(world_of(point), sampling.timeout));
  const std::vector<pid_t> processes = team.world().processes();
  auto words = std::async(std::launch::async, [&]() -> std::string {
    try {
      team.measure(point, sampling);
    } catch (const TransportError& error) {
      return error.what();
    }
    return "nothing was thrown";
  });
  std::this_thread::sleep_for(300ms);
  const auto harmed = std::chrono::steady_clock::now();
  harm(processes);
  const std::string said = words.get();
  EXPECT_LT(std::chrono::steady_clock::now() - harmed, timeout + 10s);
  for (const pid_t process : processes) EXPECT_FALSE(runs(process));
  EXPECT_THROW(team.measure(point, sampling), TransportError);
  return said;
}

TEST(ProcessTeamTest, IsolatedWorkersMeasureWithSharedAndWithPrivateBuffers) {
  for (const bool private_buffers : {false, true}) {
    Case first = isolated("direct", 3);
    first.private_buffers = private_buffers;
    const auto team = make_team(first, quick());
    for (const char* algorithm : {"direct", "ring"}) {
      for (const std::int64_t bytes : {0, 4, 40'000, 3'000'000}) {
        Case point = isolated(algorithm, 3, bytes);
        point.private_buffers = private_buffers;
        point.in_place = bytes != 40'000;
        const Measurement measured = team->measure(point, quick());
        EXPECT_EQ(measured.wrong, 0) << algorithm << " " << bytes << " " << private_buffers;
        EXPECT_TRUE(measured.replicas_identical);
        EXPECT_THAT(measured.latency_ns, SizeIs(10));
      }
    }
  }
}

// A rank with turns of milliseconds that yields beside other programs would hardly run.
TEST(ProcessTeamTest, RanksRunInShortTurns) {
  if (!turns_differ()) GTEST_SKIP() << "this kernel has turns of one length for all threads";
  StartedTeam team(start_world(world_of(isolated("ring", 2)), Seconds{30}));
  EXPECT_THAT(team.world().processes(), SizeIs(2));
  for (const pid_t process : team.world().processes()) EXPECT_EQ(turn_ns(process), 100'000);
}

TEST(ProcessTeamTest, LeavesNoProcessAndNoSegment) {
  const std::set<std::string> before = shared_memory_files();
  std::vector<pid_t> processes;
  {
    StartedTeam team(start_world(world_of(isolated("ring", 3)), Seconds{30}));
    processes = team.world().processes();
    EXPECT_EQ(shared_memory_files(), before);
    team.measure(isolated("ring", 3), quick());
    EXPECT_EQ(shared_memory_files(), before);
  }
  for (const pid_t process : processes) EXPECT_EQ(kill(process, 0), -1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // nothing left to reap
}

TEST(ProcessTeamTest, AKilledWorkerIsNamedWithItsSignal) {
  const std::set<std::string> before = shared_memory_files();
  const auto said = words_after(isolated("ring", 4), 20s, [](const std::vector<pid_t>& processes) {
    kill(processes[2], SIGKILL);
  });
  EXPECT_EQ(said, "rank 2 was killed by signal 9 (Killed)");
  EXPECT_EQ(shared_memory_files(), before);
}

TEST(ProcessTeamTest, AStoppedWorkerIsNamedWithinTheTimeout) {
  const auto said = words_after(isolated("direct", 4), 2s, [](const std::vector<pid_t>& processes) {
    kill(processes[1], SIGSTOP);
  });
  EXPECT_THAT(said, HasSubstr("rank 1 did not answer within 2 s"));
  EXPECT_THAT(said, HasSubstr("stopped"));
}

TEST(ProcessTeamTest, ASignalToOneWorkerEndsTheCaseAndIsNamed) {
  Sampling sampling = quick(2'000'000'000);
  sampling.timeout = Seconds{30};
  for (const Case& point : {isolated("ring", 3), team_case("grpc", "ring", 3, 1 << 20)}) {
    StartedTeam team(start_world(world_of(point), sampling.timeout));
    auto measuring = std::async(std::launch::async, [&] { return team.measure(point, sampling); });
    std::this_thread::sleep_for(300ms);
    kill(team.world().processes()[1], SIGTERM);
    const Measurement measured = measuring.get();
    EXPECT_EQ(measured.stopped_by, "SIGTERM at rank 1");
    EXPECT_FALSE(measured.bound) << "which would take its time";
  }
}

// In a process of its own: a stop signal is noted for good.
TEST(ProcessTeamTest, ARankThatIsStillWritingItsAnswerAfterASignalIsWaitedFor) {
  const auto answer_of_a_stopped_run = [] {
    watch_stop_signals();
    const WorldSpec spec = world_of(isolated("ring", 2));
    const auto world = start_world(spec, Seconds{30});
    std::string answers;
    raise(SIGTERM);
    try {
      world->on_all(spec, Seconds{30},
                    {.run = {},
                     .order = [](Rank) { return "rest"; },
                     .answer = [&](Rank, const std::string& answer) { answers += answer + " "; },
                     .stop_grace = stop_grace});
    } catch (const Error& error) {
      answers = error.what();
    }
    std::cerr << answers;
    return answers.empty() ? EXIT_FAILURE : EXIT_SUCCESS;
  };
  EXPECT_EXIT(std::exit(answer_of_a_stopped_run()), testing::ExitedWithCode(EXIT_SUCCESS),
              "rested rested");
}

/// Whether this process has the socket; others may not know what to make of callers.
bool is_ours(const std::string& inode) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (read_symlink(entry.path(), gone) == "socket:[" + inode + "]") return true;
  }
  return false;
}

TEST(ProcessTeamTest, ACallerThatIsNoWorkerKeepsNoneOut) {
  std::atomic<bool> over{false};
  std::thread caller([&] {  // it calls every listener as soon as that is there
    std::map<std::string, std::array<LineSocket, 3>> callers;
    for (const auto end = std::chrono::steady_clock::now() + 20s;
         !over && std::chrono::steady_clock::now() < end;) {
      std::ifstream sockets("/proc/net/unix");
      for (std::string line; std::getline(sockets, line);) {
        const std::vector<std::string> words = split_at(line, ' ');
        if (!words.back().starts_with("@collbench-") || callers.contains(words.back())) continue;
        if (!is_ours(words[words.size() - 2])) continue;
        auto& [silent, wrong, endless] = callers[words.back()];
        for (LineSocket* socket : {&silent, &wrong, &endless}) {
          *socket = connect_lines(words.back().substr(1));
        }
        wrong.send("hello");
        const std::string much(100'000, 'x');
        send(endless.descriptor(), much.data(), much.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      }
    }
  });
  const auto begin = std::chrono::steady_clock::now();
  start_world(world_of(isolated("ring", 2)), Seconds{15});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  over = true;
  caller.join();
}

TEST(ProcessTeamTest, WorkersMayOpenMoreFilesThanTheShellAllows) {
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  const rlimit few{.rlim_cur = 16, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const Case point = team_case("grpc", "ring", 4, 1000);
  std::string words;
  try {
    StartedTeam(start_world(world_of(point), Seconds{10})).measure(point, quick());
  } catch (const Error& error) {
    words = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_EQ(words, "");
}

// In a process of its own: what is taken off a hard limit is gone.
TEST(ProcessTeamTest, ABreakUnderAHardLimitOfOpenFilesNamesTheLimit) {
  const auto answer_with_few_files = [] {
    const rlimit few{.rlim_cur = 44, .rlim_max = 44};
    setrlimit(RLIMIT_NOFILE, &few);
    const Case point = team_case("grpc", "direct", 16, 1000);
    try {
      StartedTeam(start_world(world_of(point), Seconds{10})).measure(point, quick());
    } catch (const Error& error) {
      std::cerr << error.what();
      return EXIT_SUCCESS;
    }
    return EXIT_FAILURE;
  };
  EXPECT_EXIT(std::exit(answer_with_few_files()), testing::ExitedWithCode(EXIT_SUCCESS),
              "44 open files a process are few for 16 ranks: raise ulimit -n, or its hard limit");
}

TEST(ProcessTeamTest, ALauncherWithoutDescriptorsSaysSo) {
  LineListener listener;
  const LineSocket caller = connect_lines(listener.name());
  rlimit usual{};
  getrlimit(RLIMIT_NOFILE, &usual);
  const rlimit none{.rlim_cur = 3, .rlim_max = usual.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  std::string words;
  try {
    listener.accept(Seconds{5});
  } catch (const TransportError& error) {
    words = error.what();
  }
  setrlimit(RLIMIT_NOFILE, &usual);
  EXPECT_EQ(words, "cannot accept workers: Too many open files (raise ulimit -n)");
}

TEST(ProcessTeamTest, ARankWithAnotherTypeIsNamed) {
  StartedTeam team(start_world(world_of(isolated("ring", 3)), Seconds{30}));
  std::vector<Case> cases(3, isolated("ring", 3));
  cases[1].type = DataType::i32;
  try {
    team.measure_each(cases, quick());
    FAIL() << "the disagreement was not found";
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 has data type i32 where rank 0 has f32"));
  }
  for (const pid_t process : team.world().processes()) EXPECT_FALSE(runs(process));
}

TEST(ProcessTeamTest, ACaseThatEveryRankRefusesLeavesTheTeamUsable) {
  const auto team = make_team(isolated("direct", 2), quick());
  EXPECT_THROW(team->measure(isolated("drect", 2), quick()), InvalidArgument);
  EXPECT_EQ(team->measure(isolated("direct", 2), quick()).wrong, 0);
}

TEST(ProcessTeamTest, WorkersEndWithATeamThatIsKilled) {
  int out[2];
  ASSERT_EQ(pipe(out), 0);
  const pid_t holder = fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    dup2(out[1], STDOUT_FILENO);
    execl("/proc/self/exe", "team", "hold-team", nullptr);
    _exit(127);
  }
  close(out[1]);
  std::string text;
  char byte = 0;
  while (std::count(text.begin(), text.end(), '\n') < 3 && read(out[0], &byte, 1) == 1)
    text += byte;
  close(out[0]);
  std::istringstream lines(text);
  std::vector<pid_t> workers;
  for (pid_t worker = 0; lines >> worker;) workers.push_back(worker);
  ASSERT_THAT(workers, SizeIs(3));
  for (const pid_t worker : workers) EXPECT_TRUE(runs(worker));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  for (const pid_t worker : workers) {
    for (int i = 0; i < 500 && runs(worker); ++i) std::this_thread::sleep_for(10ms);
    EXPECT_FALSE(runs(worker));
  }
}

TEST(GrpcTeamTest, WorkersMeasureOverGrpcAndALostOneIsNamed) {
  const Case point = team_case("grpc", "ring", 3);
  if (!find_backend("grpc").unavailable.empty()) {
    EXPECT_THROW(make_team(point, quick()), Unavailable);
    return;
  }
  {
    const auto team = make_team(point, quick());
    for (const char* algorithm : {"ring", "direct", "ring"}) {
      const Measurement measured = team->measure(team_case("grpc", algorithm, 3), quick());
      EXPECT_EQ(measured.wrong, 0);
      EXPECT_TRUE(measured.replicas_identical);
    }
  }
  const auto said = words_after(
      point, 20s, [](const std::vector<pid_t>& processes) { kill(processes[2], SIGKILL); });
  EXPECT_EQ(said, "rank 2 was killed by signal 9 (Killed)");
}

TEST(MpiTeamTest, LaunchedWorkersMeasureMpiAndALostOneEndsAll) {
  const Case point = team_case("mpi", "mpi", 2);
  if (!find_backend("mpi").unavailable.empty()) {
    EXPECT_THROW(make_team(point, quick()), Unavailable);
    return;
  }
  {
    const auto team = make_team(point, quick());
    EXPECT_EQ(team->measure(point, quick()).wrong, 0);
    EXPECT_EQ(team->measure(team_case("mpi", "mpi:ring", 2), quick()).wrong, 0);
  }
  const auto said = words_after(
      point, 20s, [](const std::vector<pid_t>& processes) { kill(processes[1], SIGKILL); });
  EXPECT_THAT(said, HasSubstr("ended"));
}

}  // namespace
}  // namespace collbench
