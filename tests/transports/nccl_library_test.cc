#include "transports/cuda/nccl_library.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using testing::HasSubstr;

FoundLibrary find_named(const char* file) {
  ::setenv("COLLBENCH_NCCL_LIBRARY", file, 1);
  const FoundLibrary found = find_nccl();
  ::unsetenv("COLLBENCH_NCCL_LIBRARY");
  return found;
}

FoundLibrary find_version(const char* number) {
  ::setenv("STAND_IN_NCCL_VERSION", number, 1);
  const FoundLibrary found = find_named(GPU_STAND_IN);
  ::unsetenv("STAND_IN_NCCL_VERSION");
  return found;
}

TEST(NcclLibraryTest, IsTheOneThatTheEnvironmentNames) {
  const FoundLibrary found = find_named(GPU_STAND_IN);
  EXPECT_EQ(found.unavailable, "");
  EXPECT_EQ(found.version, "2.28.9");
  EXPECT_EQ(found.path, GPU_STAND_IN);
}

TEST(NcclLibraryTest, SaysWhyItIsNotThere) {
  EXPECT_THAT(find_named("/nonexistent/libnccl.so.2").unavailable,
              HasSubstr("COLLBENCH_NCCL_LIBRARY=/nonexistent/libnccl.so.2 cannot be loaded"));
  EXPECT_THAT(find_named("libm.so.6").unavailable, HasSubstr("it has no ncclGetVersion"));
  EXPECT_THAT(find_named(NCCL_THAT_FAILS).unavailable, HasSubstr("failed with error 3"));
  EXPECT_EQ(find_named(NCCL_THAT_FAILS).version, "");
  EXPECT_THAT(find_named(NCCL_THAT_LACKS_MOST).unavailable, HasSubstr("has no ncclGetErrorString"));
}

TEST(NcclLibraryTest, IsRefusedIfItsVersionHasAnotherInterface) {
  EXPECT_THAT(find_version("21703").unavailable,
              HasSubstr("is NCCL 2.17.3; collbench can use 2.18.0 and later"));
  EXPECT_THAT(find_version("30100").unavailable, HasSubstr("is NCCL 3.1.0"));
  EXPECT_EQ(find_version("21800").version, "2.18.0");
  EXPECT_EQ(find_version("23007").version, "2.30.7");
}

TEST(NcclLibraryTest, IsAlsoLookedForInPythonPackages) {
  const std::filesystem::path environment = testing::TempDir() + "/nccl-venv";
  const auto folder = environment / "lib/python3.11/site-packages/nvidia/nccl/lib";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(GPU_STAND_IN, folder / "libnccl.so.2",
                             std::filesystem::copy_options::overwrite_existing);
  ::unsetenv("COLLBENCH_NCCL_LIBRARY");
  ::setenv("VIRTUAL_ENV", environment.c_str(), 1);
  EXPECT_THAT(nccl_candidates(), testing::Contains((folder / "libnccl.so.2").string()));
  EXPECT_EQ(nccl_candidates().front(), "libnccl.so.2");
  EXPECT_EQ(find_nccl().unavailable, "");
  ::unsetenv("VIRTUAL_ENV");
  std::filesystem::remove_all(environment);
}

TEST(NcclLibraryTest, IsAlsoLookedForWhereTheToolkitIs) {
  const std::filesystem::path toolkit = testing::TempDir() + "/cuda-toolkit";
  std::filesystem::create_directories(toolkit / "lib64");
  std::filesystem::copy_file(GPU_STAND_IN, toolkit / "lib64/libnccl.so.2",
                             std::filesystem::copy_options::overwrite_existing);
  ::unsetenv("COLLBENCH_NCCL_LIBRARY");
  ::setenv("CUDA_HOME", toolkit.c_str(), 1);
  EXPECT_THAT(nccl_candidates(), testing::Contains((toolkit / "lib64/libnccl.so.2").string()));
  ::unsetenv("CUDA_HOME");
  EXPECT_THAT(nccl_candidates(),
              testing::Not(testing::Contains((toolkit / "lib64/libnccl.so.2").string())));
  std::filesystem::remove_all(toolkit);
}

TEST(NcclLibraryTest, HasAVersionOrAReasonWithoutBeingNamed) {
  ::unsetenv("COLLBENCH_NCCL_LIBRARY");
  const FoundLibrary found = find_nccl();
  EXPECT_NE(found.version.empty(), found.unavailable.empty());
  if (found.version.empty()) {
    EXPECT_THAT(found.unavailable, HasSubstr("COLLBENCH_NCCL_LIBRARY may name its file"));
  }
}

TEST(NcclVersionTest, IsReadAsBothGenerationsNumberIt) {
  EXPECT_EQ(nccl_version(22707), "2.27.7");
  EXPECT_EQ(nccl_version(20905), "2.9.5");
  EXPECT_EQ(nccl_version(2804), "2.8.4");
}

}  // namespace
}  // namespace collbench
