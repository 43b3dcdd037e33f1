// main() of the tests of teams: the binary is also the worker that its teams start, and a process
// that holds a team until it is killed.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/measure/measure_case.h"
#include "bench/measure/team.h"
#include "transports/library_sessions.h"

namespace {

int hold_team() {
  collbench::Case point;
  point.algorithm = "direct";
  point.backend = "shm";
  point.workers = 3;
  point.isolate = true;
  const auto world = collbench::start_world(collbench::world_of(point), collbench::Seconds{60});
  for (const pid_t process : world->processes()) std::printf("%d\n", process);
  std::fflush(stdout);
  pause();
  return 0;
}

// Beside cases: "rest", in which rank 0 takes 1.2 s more than the others to answer.
std::string carry_out(collbench::RankContext& context, const collbench::WorldSpec& spec,
                      const std::string& order) {
  if (order != "rest") return collbench::carry_out_case(context, spec, order);
  if (context.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  return "rested";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0) {
    const int code = collbench::worker_main({argv + 2, argv + argc}, carry_out);
    collbench::end_library_sessions();
    return code;
  }
  if (argc > 1 && std::strcmp(argv[1], "hold-team") == 0) return hold_team();
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
