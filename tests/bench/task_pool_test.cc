#include "bench/measure/task_pool.h"

#include <csignal>
#include <map>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace collbench {
namespace {

using testing::HasSubstr;

std::map<int, TaskResult> run_all(int tasks, int jobs,
                                  const std::function<std::string(int)>& work) {
  std::map<int, TaskResult> results;
  run_tasks(
      tasks, jobs, work, [&](const TaskResult& result) { results[result.task] = result; },
      [] { return false; });
  return results;
}

TEST(TaskPool, EveryTaskRunsOnceInAnotherProcess) {
  const pid_t parent = getpid();
  const auto results = run_all(20, 3, [parent](int task) {
    return getpid() == parent ? std::string("here") : std::to_string(task * task);
  });
  ASSERT_EQ(results.size(), 20U);
  for (const auto& [task, result] : results) EXPECT_EQ(result.line, std::to_string(task * task));
}

TEST(TaskPool, ATaskThatThrowsOrDiesCostsItselfOnly) {
  const auto results = run_all(6, 2, [](int task) -> std::string {
    if (task == 1) throw std::runtime_error("no\nway");
    if (task == 2) std::raise(SIGKILL);
    if (task == 3) _exit(7);
    return "fine";
  });
  ASSERT_EQ(results.size(), 6U);
  EXPECT_EQ(results.at(1).failure, "no way");
  EXPECT_THAT(results.at(2).failure, HasSubstr("killed by signal"));
  EXPECT_THAT(results.at(3).failure, HasSubstr("code 7"));
  for (const int task : {0, 4, 5}) EXPECT_EQ(results.at(task).line, "fine") << task;
}

TEST(TaskPool, StopsWhenAsked) {
  int done = 0;
  run_tasks(
      1000, 2, [](int) { return std::string("x"); }, [&](const TaskResult&) { ++done; },
      [&] { return done >= 5; });
  EXPECT_GE(done, 5);
  EXPECT_LT(done, 1000);
}

}  // namespace
}  // namespace collbench
