// A temporary folder: private, of its own, gone with its contents.
#include "core/scratch_folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolderTest, IsPrivateAndGoesWithAllThatIsInIt) {
  std::string path;
  {
    const ScratchFolder folder("collbench-test");
    const ScratchFolder other("collbench-test");
    path = folder.path();
    EXPECT_NE(path, other.path());
    EXPECT_THAT(fs::path(path).filename().string(), testing::StartsWith("collbench-test-"));
    EXPECT_EQ(fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all),
              fs::perms::none);
    fs::create_directories(path + "/a/b");
    std::ofstream(path + "/a/b/file") << "text";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(ScratchFolderTest, WhereNoneCanBeMadeIsNamed) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", "/proc", 1);
  try {
    const ScratchFolder folder("collbench-test");
    ADD_FAILURE() << folder.path() << " was made";
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'/proc/collbench-test-"));
  }
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace collbench
