// The parameter servers' processes, as threads that talk as processes do.
#include "training/asynchronous/remote_coordinator.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/training/call_loop.h"
#include "tests/training/small_models.h"

#include "core/error.h"
#include "training/asynchronous/parameter_server.h"

namespace collbench {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A run of one chief, `workers` and `servers`, each on a thread.
class Cluster {
 public:
  Cluster(TrainingPlan plan, int workers, int servers)
      : plan_(std::move(plan)), data_(data_for(plan_.model, 60)) {
    run_.chief = {"chief", "chief"};
    run_.timeout = Seconds{20};
    for (int i = 0; i < workers; ++i) {
      run_.workers.push_back({"worker " + std::to_string(i), "worker" + std::to_string(i)});
    }
    for (int i = 0; i < servers; ++i) {
      run_.servers.push_back({"ps " + std::to_string(i), "ps" + std::to_string(i)});
    }
    errors_.resize(static_cast<std::size_t>(workers + servers));
  }
  ~Cluster() {
    for (std::thread& thread : threads_) thread.join();
  }

  void start_server(int index) {
    threads_.emplace_back([this, index] {
      VariableService service;
      const auto server =
          loop_.listen(run_.servers[static_cast<std::size_t>(index)].address, handlers_of(service));
      note(index + std::ssize(run_.workers),
           [&] { service.wait_until_finished(run_.timeout, [] { return false; }); });
    });
  }
  void start_worker(int index, const std::vector<NamedValue>& values = {{"seed", "1"}},
                    const std::string& unfit = "", std::function<bool()> stop = {}) {
    threads_.emplace_back([=, this] {
      note(index, [&] {
        work_for_chief(plan_, run_, index, values, unfit, data_, loop_,
                       [&] { return stop && stop(); });
      });
    });
  }
  void start_all() {
    for (int i = 0; i < std::ssize(run_.servers); ++i) start_server(i);
    for (int i = 0; i < std::ssize(run_.workers); ++i) start_worker(i);
  }
  ServerReport coordinate(const ReplicaHooks& hooks = {}) {
    return collbench::coordinate(plan_, run_, {{"seed", "1"}}, data_, data_, hooks, loop_, "chief");
  }
  std::string failure_of_chief(const ReplicaHooks& hooks = {}) {
    try {
      coordinate(hooks);
    } catch (const TransportError& error) {
      return error.what();
    }
    return "none";
  }
  /// Of workers, then of servers; once all have ended.
  std::vector<std::string> errors() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return errors_;
  }

  TrainingPlan plan_;
  Dataset data_;
  ServerRun run_;
  CallLoop loop_;

 private:
  template <class Task>
  void note(std::ptrdiff_t place, Task task) {
    try {
      task();
    } catch (const std::exception& error) {
      errors_[static_cast<std::size_t>(place)] = error.what();
    }
  }
  std::vector<std::string> errors_;
  std::vector<std::thread> threads_;
};

TEST(RemoteCoordinatorTest, OneWorkerTrainsWhatThreadsDoWhateverTheServers) {
  for (const int servers : {1, 3}) {
    for (const Model& model : {every_layer(), small_residual()}) {
      Cluster cluster(plan_for(model), 1, servers);
      const auto expected =
          train_parameter_server(cluster.plan_, 1, servers, cluster.data_, cluster.data_);
      cluster.start_all();
      const ServerReport report = cluster.coordinate();
      EXPECT_EQ(report.workers[0].parameters, expected.workers[0].parameters) << model.name;
      EXPECT_EQ(report.workers[0].held_out_accuracy, expected.workers[0].held_out_accuracy);
      EXPECT_EQ(report.server_bytes, expected.server_bytes);
      EXPECT_EQ(report.workers[0].steps.size(), 30U);
      EXPECT_THAT(cluster.errors(), testing::Each(""));
    }
  }
}

TEST(RemoteCoordinatorTest, SeveralWorkersDoEveryStepOnceAndSeeEachOthersUpdates) {
  Cluster cluster(plan_for(make_model("dense2")), 4, 2);
  cluster.start_all();
  const ServerReport report = cluster.coordinate();
  std::size_t steps = 0;
  for (const ReplicaReport& worker : report.workers) steps += worker.steps.size();
  EXPECT_EQ(steps, 30U);
  EXPECT_EQ(report.repeated, 0);
  EXPECT_LT(report.workers[0].epochs[1].loss, report.workers[0].epochs[0].loss);
  EXPECT_THAT(cluster.errors(), testing::Each(""));
}

TEST(RemoteCoordinatorTest, ALostServerEndsAllAndIsNamed) {
  Cluster cluster(plan_for(every_layer()), 2, 2);
  cluster.start_all();
  ReplicaHooks hooks;
  hooks.on_step = [&](const Progress& now) {
    if (now.steps == 5) cluster.loop_.lose("ps1");
  };
  EXPECT_THAT(cluster.failure_of_chief(hooks), HasSubstr("ps 1 (ps1) was lost"));
  const auto errors = cluster.errors();
  EXPECT_THAT(errors[0], HasSubstr("ps 1 (ps1) was lost"));
  EXPECT_THAT(errors[1], HasSubstr("ps 1 (ps1) was lost"));
  EXPECT_THAT(errors[2], HasSubstr("ps 1 (ps1) was lost")) << "the other server is told";
}

TEST(RemoteCoordinatorTest, AWorkerThatLeavesStopsNobody) {
  Cluster cluster(plan_for(every_layer()), 2, 1);
  std::atomic<int> steps{0};
  cluster.start_server(0);
  cluster.start_worker(0, {{"seed", "1"}}, "", [&] { return ++steps == 3; });
  cluster.start_worker(1);
  const ServerReport report = cluster.coordinate();
  EXPECT_EQ(report.workers[0].steps.size(), 3U);
  EXPECT_EQ(report.workers[1].steps.size(), 27U);
  EXPECT_THAT(cluster.errors(), testing::Each(""));
}

TEST(RemoteCoordinatorTest, WhoIsMissingIsNamedToThoseWhoCame) {
  Cluster cluster(plan_for(every_layer()), 2, 2);
  cluster.run_.timeout = Seconds{0.5};
  cluster.start_server(0);
  EXPECT_THAT(cluster.failure_of_chief(), HasSubstr("there is no ps 1 (ps1)"));
  EXPECT_THAT(cluster.errors()[2], HasSubstr("there is no ps 1 (ps1)"));
  cluster.start_server(0);
  cluster.start_server(1);
  cluster.start_worker(1);
  EXPECT_THAT(cluster.failure_of_chief(), HasSubstr("there is no worker 0 (worker0)"));
  const auto errors = cluster.errors();
  for (const int task : {1, 2, 3}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(task)],
                HasSubstr("there is no worker 0 (worker0)"));
  }
}

TEST(RemoteCoordinatorTest, WithoutAChiefWorkersAndServersEndAndSayIt) {
  Cluster cluster(plan_for(every_layer()), 1, 1);
  cluster.run_.timeout = Seconds{0.3};
  cluster.start_all();
  const auto errors = cluster.errors();
  EXPECT_THAT(errors[0], HasSubstr("there is no chief (chief)"));
  EXPECT_THAT(errors[1], HasSubstr("no chief connected to this ps"));
}

TEST(RemoteCoordinatorTest, ADifferenceOrARefusalEndsAllBeforeTheyBegin) {
  for (const bool unfit : {false, true}) {
    Cluster cluster(plan_for(every_layer()), 2, 1);
    cluster.start_server(0);
    cluster.start_worker(0);
    cluster.start_worker(1, {{"seed", unfit ? "1" : "2"}}, unfit ? "no memory" : "");
    const char* words = unfit ? "worker 1 (worker1) cannot take part: no memory"
                              : "worker 1 (worker1) has seed 2 where the chief has 1";
    EXPECT_THAT(cluster.failure_of_chief(), HasSubstr(words));
    EXPECT_THAT(cluster.errors(), testing::Each(HasSubstr(words)));
  }
}

TEST(RemoteCoordinatorTest, ResumingGivesWhatAnUninterruptedRunGives) {
  TrainingPlan plan = plan_for(small_residual());
  plan.save_every = 7;
  std::vector<TrainingState> states;
  ReplicaHooks saving;
  saving.save = [&](const TrainingState& state) { states.push_back(state); };
  Cluster whole(plan, 1, 2);
  whole.start_all();
  const auto expected = whole.coordinate(saving).workers[0];
  ASSERT_EQ(states.size(), 5U);
  EXPECT_EQ(states[1].step, 14);
  EXPECT_TRUE(states[4].finished);
  const TrainingState start = states[1];
  ReplicaHooks resuming;
  resuming.start = &start;
  Cluster rest(plan, 1, 2);
  rest.start_all();
  const ServerReport report = rest.coordinate(resuming);
  EXPECT_EQ(report.workers[0].parameters, expected.parameters);
  EXPECT_EQ(report.workers[0].steps.size(), 16U);
  EXPECT_EQ(report.workers[0].epochs[0].loss, expected.epochs[0].loss) << "of the whole epoch";
}

}  // namespace
}  // namespace collbench
