// The tuner plugin, loaded as NCCL loads it and asked through the structs of both interfaces.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/core/refusal.h"

#include "heuristics/exports/nccl_plugin/tuner_interface.h"
#include "heuristics/exports/nccl_plugin/tuner_rules.h"

namespace collbench {
namespace {

using testing::HasSubstr;

constexpr int all_reduce = 4;
constexpr int tree = 0;
constexpr int ring = 1;
constexpr int nvls = 4;
constexpr int ll = 0;
constexpr int simple = 2;

std::string logged;

__attribute__((format(printf, 5, 6))) void log(int /*level*/, unsigned long /*flags*/,
                                               const char* /*file*/, int /*line*/,
                                               const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  logged += text;
}

class TunerPluginTest : public testing::Test {
 protected:
  // Stays loaded, so that LeakSanitizer sees that what it allocated is still reachable.
  TunerPluginTest()
      : library_(dlopen(COLLBENCH_TUNER_PLUGIN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (library_ == nullptr) ADD_FAILURE() << dlerror();
    path_ = (std::filesystem::temp_directory_path() /
             ("collbench-tuner-" + std::to_string(getpid()) + ".conf"))
                .string();
    logged.clear();
  }
  ~TunerPluginTest() override {
    std::filesystem::remove(path_);
    unsetenv("NCCL_TUNER_CONFIG_FILE");
    if (library_ != nullptr) dlclose(library_);
  }

  template <typename Plugin>
  const Plugin& plugin(const char* symbol) {
    void* found = dlsym(library_, symbol);
    EXPECT_NE(found, nullptr) << symbol;
    return *static_cast<const Plugin*>(found);
  }

  void write_rules(const std::string& text) {
    std::ofstream(path_) << text;
    setenv("NCCL_TUNER_CONFIG_FILE", path_.c_str(), 1);
  }

  /// A table as NCCL fills it: one cost for each pair, -1 where it has none.
  static std::vector<float> costs() {
    std::vector<float> table(7 * 3, 10.0F);
    table[nvls * 3 + ll] = -1.0F;
    return table;
  }

  void* library_;
  std::string path_;
};

TEST_F(TunerPluginTest, VersionFiveFollowsTheRulesOfItsFile) {
  write_rules("allreduce,0,65536,tree,ll,-1,2,16\nallreduce,65537,1048576,ring,simple,12,2,16\n");
  const auto& v5 = plugin<CollbenchTunerV5>("ncclTunerPlugin_v5");
  EXPECT_STREQ(v5.name, "collbench");
  void* context = nullptr;
  ASSERT_EQ(v5.init(&context, 77, 16, 2, log, nullptr, nullptr), 0) << logged;
  EXPECT_THAT(logged, HasSubstr("2 rules"));

  std::vector<float> table = costs();
  int channels = 0;
  auto* as_nccl_passes_it = reinterpret_cast<float**>(table.data());
  ASSERT_EQ(v5.ask(context, all_reduce, 4096, 1, as_nccl_passes_it, 7, 3, 0, &channels), 0);
  EXPECT_EQ(table[tree * 3 + ll], 0.0F);
  EXPECT_EQ(table[ring * 3 + simple], 10.0F);
  EXPECT_EQ(channels, 0) << "channels of -1 leave NCCL's number alone";

  std::vector<float> other = costs();
  ASSERT_EQ(v5.ask(context, all_reduce, 65537, 1, reinterpret_cast<float**>(other.data()), 7, 3, 0,
                   &channels),
            0);
  EXPECT_EQ(other[ring * 3 + simple], 0.0F);
  EXPECT_EQ(channels, 12);
  EXPECT_EQ(v5.finalize(context), 0);
}

TEST_F(TunerPluginTest, VersionFourDoesTheSame) {
  write_rules("allreduce,0,100,ring,ll,3,-1,-1,-1,-1\n");
  const auto& v4 = plugin<CollbenchTunerV4>("ncclTunerPlugin_v4");
  void* context = nullptr;
  ASSERT_EQ(v4.init(8, 1, log, &context), 0) << logged;
  std::vector<float> table = costs();
  int channels = 0;
  ASSERT_EQ(v4.ask(context, all_reduce, 100, 1, reinterpret_cast<float**>(table.data()), 7, 3, 1,
                   &channels),
            0);
  EXPECT_EQ(table[ring * 3 + ll], 0.0F);
  EXPECT_EQ(channels, 3);
  EXPECT_EQ(v4.destroy(context), 0);
}

TEST_F(TunerPluginTest, WhatNoRuleNamesAndWhatNcclCannotUseStaysAsItIs) {
  write_rules("allreduce,0,100,nvls,simple,-1,1,8\nallreduce,200,300,ring,ll,2,4,32\n");
  const auto& v5 = plugin<CollbenchTunerV5>("ncclTunerPlugin_v5");
  void* context = nullptr;
  ASSERT_EQ(v5.init(&context, 1, 8, 1, log, nullptr, nullptr), 0) << logged;
  std::vector<float> table = costs();
  table[nvls * 3 + simple] = -1.0F;
  const std::vector<float> before = table;
  int channels = 0;
  auto* costs = reinterpret_cast<float**>(table.data());
  EXPECT_EQ(v5.ask(context, all_reduce, 50, 1, costs, 7, 3, 0, &channels), 0);   // unavailable
  EXPECT_EQ(v5.ask(context, all_reduce, 150, 1, costs, 7, 3, 0, &channels), 0);  // between rules
  EXPECT_EQ(v5.ask(context, all_reduce, 250, 1, costs, 7, 3, 0, &channels), 0);  // other scale
  EXPECT_EQ(v5.ask(context, 0, 50, 1, costs, 7, 3, 0, &channels), 0);            // broadcast
  EXPECT_EQ(table, before);
  EXPECT_EQ(channels, 0);
  v5.finalize(context);
}

TEST_F(TunerPluginTest, AFileWithAnErrorFailsTheCommunicatorAndNamesTheLine) {
  write_rules("# rules\nallreduce,0,100,rign,ll,-1,1,8\n");
  const auto& v5 = plugin<CollbenchTunerV5>("ncclTunerPlugin_v5");
  void* context = nullptr;
  EXPECT_NE(v5.init(&context, 1, 8, 1, log, nullptr, nullptr), 0);
  EXPECT_THAT(logged, HasSubstr(":2: unknown algorithm 'rign'; known are tree, ring"));
  setenv("NCCL_TUNER_CONFIG_FILE", "/nonexistent/rules", 1);
  EXPECT_NE(v5.init(&context, 1, 8, 1, log, nullptr, nullptr), 0);
  EXPECT_THAT(logged, HasSubstr("cannot read '/nonexistent/rules'"));
}

std::string refused(const std::string& text) {
  return refusal<TunerFileError>([&] { parse_tuner_rules(text, "f"); });
}

TEST(TunerRulesTest, WrongLinesAreRefused) {
  EXPECT_THAT(refused("allreduce,0,100,ring,ll,-1,1\n"), HasSubstr("f:1: has 7 fields"));
  EXPECT_THAT(refused("allreduce,0,100,ring,ll,-1,1,8,-1,-1,0\n"), HasSubstr("has 11 fields"));
  EXPECT_THAT(refused("allreduce,9,8,ring,ll,-1,1,8\n"), HasSubstr("max_bytes is below"));
  EXPECT_THAT(refused("allreduce,0,8x,ring,ll,-1,1,8\n"), HasSubstr("max_bytes '8x'"));
  EXPECT_THAT(refused("allreduce,-1,8,ring,ll,-1,1,8\n"), HasSubstr("min_bytes '-1'"));
  EXPECT_THAT(refused("allreduce,0,8,ring,LL,-1,1,8\n"), HasSubstr("unknown protocol 'LL'"));
  EXPECT_THAT(refused("alreduce,0,8,ring,ll,-1,1,8\n"), HasSubstr("unknown collective"));
  EXPECT_THAT(refused("allreduce,0,8,ring,ll,0,1,8\n"), HasSubstr("channels must be -1"));
  EXPECT_THAT(refused("allreduce,0,8,ring,ll,65,1,8\n"), HasSubstr("channels '65'"));
  EXPECT_THAT(refused("allreduce,0,8,nvls,ll,-1,1,8\n"), HasSubstr("protocol simple only"));
  EXPECT_THAT(refused("\n\n" + std::string(300, ' ') + "x" + std::string(300, 'y') + "\n"),
              HasSubstr("f:3: the line is longer"));
  EXPECT_EQ(refused("# comment\r\n\n allreduce , 0,18446744073709551615,pat,ll,-1,-1,-1\r\n"), "");
}

}  // namespace
}  // namespace collbench
