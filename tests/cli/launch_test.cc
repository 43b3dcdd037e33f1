// `collbench launch` with a stand-in for ssh that runs the command line on this machine.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/free_ports.h"
#include "tests/cli/invoke.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

/// Runs `launch` between 127.0.0.1 and 127.0.0.2, which every Linux machine has.
class LaunchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_grpc()) GTEST_SKIP() << "this build has no gRPC";
    // Notes its arguments and its process, as ps would show them.
    stand_in("ssh",
             "printf '%s\\n' \"$1\" >>hosts; printf '%s\\n' \"$2\" >>lines; exec sh -c \"$2\"");
  }

  void stand_in(const std::string& name, const std::string& script) {
    folder_.write(name, "#!/bin/sh\n" + script + "\n");
    chmod((folder_.path() + "/" + name).c_str(), 0755);
  }

  CommandOutcome launch(const Arguments& options, const Arguments& arguments, int signal = 0) {
    Arguments words = {"launch", "--ssh", folder_.path() + "/ssh"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back("--");
    words.insert(words.end(), arguments.begin(), arguments.end());
    return invoke(folder_, words, {}, signal);
  }

  const std::string& port() const { return port_; }

  RunFolder folder_;

 private:
  const std::string port_ = std::to_string(free_ports(2)[0]);  // and the next one
};

const Arguments quick = {"run", "--algo", "ring", "-b", "1K", "-e", "1K", "-n", "5", "-T", "20"};

Arguments operator+(Arguments left, const Arguments& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

TEST_F(LaunchTest, StartsARankPerSlotAndShowsTheTableOfRankZero) {
  const CommandOutcome outcome = launch({"--hosts", "127.0.0.1:2,127.0.0.2", "--port", port()},
                                        quick + Arguments{"--json", "out.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("all results correct"), Not(HasSubstr("[rank"))));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("[rank 1] 1 case measured"), HasSubstr("[rank 2] 1 case measured"),
                    Not(HasSubstr("[rank 1] [rank 1]"))));
  const std::string called = folder_.read("hosts");
  EXPECT_EQ(std::count(called.begin(), called.end(), '\n'), 3) << called;
  const int first = std::stoi(port());
  EXPECT_THAT(folder_.read("out.json"),
              HasSubstr("127.0.0.1:" + port() + ",127.0.0.1:" + std::to_string(first + 1) +
                        ",127.0.0.2:" + port()));
}

TEST_F(LaunchTest, TheSecretOfTheJobIsOnNoCommandLine) {
  const CommandOutcome outcome =
      invoke(folder_,
             Arguments{"launch", "--ssh", folder_.path() + "/ssh", "--hosts", "127.0.0.1,127.0.0.2",
                       "--port", port(), "--"} +
                 quick,
             {{"COLLBENCH_JOB_TOKEN", "hush-hush"}});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(folder_.read("lines"), AllOf(HasSubstr("--rank 1"), Not(HasSubstr("hush-hush"))));
}

TEST_F(LaunchTest, WordsArriveWhole) {
  const CommandOutcome outcome = launch({"--hosts", "127.0.0.1,127.0.0.2", "--port", port()},
                                        quick + Arguments{"--json", "it's $HOME; a file.json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(folder_.read("it's $HOME; a file.json"), HasSubstr("\"hosts\""));
}

TEST_F(LaunchTest, CtrlCStopsAllAfterTheCaseAndKeepsWhatWasMeasured) {
  const CommandOutcome outcome = launch({"--hosts", "127.0.0.1,127.0.0.2", "--port", port()},
                                        {"run", "--algo", "ring", "-b", "1K", "-e", "64M", "-f",
                                         "2", "--max-time", "0.3", "--json", "out.json"},
                                        SIGINT);
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("was interrupted"));
  EXPECT_THAT(folder_.read("out.json"), HasSubstr("latency"));
}

TEST_F(LaunchTest, CtrlCIsNamedEvenIfAWorkerThatHeardItFromAPeerEndsFirst) {
  // The second host's worker gets its token and no signal; the first one's ssh lingers.
  stand_in("ssh",
           "[ \"$1\" = 127.0.0.1 ] && { sh -c \"$2\"; code=$?; sleep 2; exit $code; }\n"
           "exec 3<&0; mkfifo words; { read -r token; echo \"$token\"; sleep 30; } <&3 >words &\n"
           "sh -c \"$2\" <words; code=$?; echo $code >second; kill $!; exit $code");
  const CommandOutcome outcome = launch(
      {"--hosts", "127.0.0.1,127.0.0.2", "--port", port()},
      {"run", "--algo", "ring", "-b", "1K", "-e", "64M", "-f", "2", "--max-time", "0.3"}, SIGINT);
  EXPECT_EQ(folder_.read("second"), "5\n") << outcome.err;
  EXPECT_EQ(outcome.code, 130) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("rank 0 on 127.0.0.1 was interrupted"));
}

TEST_F(LaunchTest, WorkersEndWhenTheLauncherIsKilled) {
  stand_in("ssh", "echo $$ >>pids; exec sh -c \"$2\"");
  const CommandOutcome outcome = launch(
      {"--hosts", "127.0.0.1,127.0.0.2", "--port", port()},
      {"run", "--algo", "ring", "-b", "1K", "-e", "1G", "-f", "2", "--max-time", "1s"}, SIGKILL);
  EXPECT_EQ(outcome.code, 128 + SIGKILL);
  std::istringstream pids(folder_.read("pids"));
  int started = 0;
  for (pid_t pid = 0; pids >> pid; ++started) {
    for (int i = 0; i < 400 && kill(pid, 0) == 0; ++i) usleep(100'000);
    EXPECT_NE(kill(pid, 0), 0) << pid << " still runs";
  }
  EXPECT_EQ(started, 2);
}

TEST_F(LaunchTest, AWorkerThatFailsEndsTheOthersAndGivesTheExitCode) {
  // The second host's worker dies at once; rank 0 would wait for it for a minute.
  stand_in("ssh",
           "[ \"$1\" = 127.0.0.1 ] || exec sh -c 'kill -9 $$'; echo $$ >pid; exec sh -c \"$2\"");
  const auto begin = std::chrono::steady_clock::now();
  const CommandOutcome outcome = launch({"--hosts", "127.0.0.1,127.0.0.2", "--port", port()},
                                        {"run", "-b", "1K", "-e", "1K", "--timeout", "60s"});
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, HasSubstr("rank 1 on 127.0.0.2 was killed by signal 9"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_NE(kill(std::stoi(folder_.read("pid")), 0), 0) << "rank 0's shell still runs";
}

TEST_F(LaunchTest, SaysWhyAWorkerDidNotStart) {
  CommandOutcome outcome =
      launch({"--hosts", "127.0.0.1", "--program", "/no/such/collbench"}, quick);
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("rank 0 on 127.0.0.1"),
                                 HasSubstr("'/no/such/collbench'"), HasSubstr("--program")));
  stand_in("ssh", "echo 'Permission denied (publickey).' >&2; exit 255");
  outcome = launch({"--hosts", "127.0.0.1,user@127.0.0.2"}, quick);
  EXPECT_EQ(outcome.code, 5);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("[rank 1] Permission denied (publickey)."),
                                 HasSubstr("without a password")));
  outcome = invoke(folder_, {"launch", "--ssh", "/no/such/ssh", "--hosts", "a", "--", "run"});
  EXPECT_EQ(outcome.code, 4);
  EXPECT_THAT(outcome.err, HasSubstr("cannot start /no/such/ssh"));
}

TEST_F(LaunchTest, MistakesOfTheWorkersCommandHaveTheirExitCode) {
  const CommandOutcome outcome = launch({"--hosts", "127.0.0.1"}, {"run", "--algo", "rnig"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("Did you mean 'ring'?"));
}

TEST_F(LaunchTest, RefusesWhatItCannotLaunch) {
  const auto message = [&](const Arguments& options, const Arguments& arguments) {
    const CommandOutcome outcome = launch(options, arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(folder_.read("hosts"), "") << "ssh was called";
    return outcome.err;
  };
  EXPECT_THAT(message({"--hosts", "a,b:0"}, quick), HasSubstr("'b:0' is not HOST:SLOTS"));
  EXPECT_THAT(message({"--hosts", "a,"}, quick), HasSubstr("'a,' has an empty item"));
  EXPECT_THAT(message({"--hosts", "-oProxyCommand=x"}, quick), HasSubstr("not the name of a host"));
  EXPECT_THAT(message({"--hosts", "a,b,a"}, quick), HasSubstr("'a:2' starts two workers on it"));
  EXPECT_THAT(message({"--hosts", "a:2", "--port", "65535"}, quick), HasSubstr("beyond 65535"));
  EXPECT_THAT(message({"--hosts", "a"}, {"sweep"}), HasSubstr("not 'sweep'"));
  EXPECT_THAT(message({"--hosts", "a"}, quick + Arguments{"--rank=0"}),
              HasSubstr("--rank after -- is what launch gives"));
}

}  // namespace
}  // namespace collbench
