#include "transports/nccl_library.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace collbench {
namespace {

using testing::HasSubstr;

NcclLibrary find_named(const char* file) {
  ::setenv("COLLBENCH_NCCL_LIBRARY", file, 1);
  const NcclLibrary found = find_nccl();
  ::unsetenv("COLLBENCH_NCCL_LIBRARY");
  return found;
}

TEST(NcclLibraryTest, IsTheOneThatTheEnvironmentNames) {
  const NcclLibrary found = find_named(NCCL_THAT_WORKS);
  EXPECT_EQ(found.unavailable, "");
  EXPECT_EQ(found.version, "2.27.7");
  EXPECT_EQ(found.path, NCCL_THAT_WORKS);
}

TEST(NcclLibraryTest, SaysWhyItIsNotThere) {
  EXPECT_THAT(find_named("/nonexistent/libnccl.so.2").unavailable,
              HasSubstr("COLLBENCH_NCCL_LIBRARY=/nonexistent/libnccl.so.2 cannot be loaded"));
  EXPECT_THAT(find_named("libm.so.6").unavailable, HasSubstr("it has no ncclGetVersion"));
  EXPECT_THAT(find_named(NCCL_THAT_FAILS).unavailable, HasSubstr("failed with error 3"));
  EXPECT_EQ(find_named(NCCL_THAT_FAILS).version, "");
}

TEST(NcclLibraryTest, HasAVersionOrAReasonWithoutBeingNamed) {
  ::unsetenv("COLLBENCH_NCCL_LIBRARY");
  const NcclLibrary found = find_nccl();
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
