#include "training/event_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

TEST(EventFileTest, AFileBeginsAsTensorBoardExpects) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "collbench_events_XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = EventFile(folder + "/logs").path();
  EXPECT_NE(path.find("/logs/events.out.tfevents."), std::string::npos);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  std::filesystem::remove_all(folder);
  // 24 bytes, their checksum, and then field 1, a double.
  EXPECT_EQ(text.str().substr(0, 13), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09", 13));
  EXPECT_NE(text.str().find("brain.Event:2"), std::string::npos);
}

TEST(EventFileTest, AFolderThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(EventFile("/proc/nowhere"), Unavailable);
}

}  // namespace
}  // namespace collbench
