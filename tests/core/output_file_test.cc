// A file of results is there whole or not at all.
#include "core/output_file.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/refusal.h"

#include "core/stop_request.h"

namespace collbench {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }

  std::string folder_ = testing::TempDir() + "output_file_" + std::to_string(getpid()) + "_" +
                        testing::UnitTest::GetInstance()->current_test_info()->name();
  std::string path_ = folder_ + "/result";
};

TEST_F(OutputFileTest, TakesThePlaceOfWhatWasThereWithItsPermissions) {
  write_file(path_, "old and long");
  chmod(path_.c_str(), 0640);
  write_file(path_, "new");
  EXPECT_EQ(content_of(path_), "new");
  EXPECT_EQ(fs::status(path_).permissions(), fs::perms{0640});
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, OfAWriterThatFailsLeavesTheOldOne) {
  write_file(path_, "old");
  {
    OutputFile file(path_);
    file.stream() << std::string(1'000'000, 'x') << std::flush;
    EXPECT_EQ(content_of(path_), "old");
    EXPECT_EQ(files(), 2);
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const std::string name = entry.path().filename().string();
      EXPECT_TRUE(name == "result" || (name.starts_with(".result") && is_unfinished_output(name)));
    }
  }
  EXPECT_EQ(content_of(path_), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, HoldsEveryByteOfLongAndShortWrites) {
  std::string text;
  OutputFile file(path_);
  for (int i = 0; i < 3000; ++i) {
    const std::string piece(static_cast<std::size_t>(i % 97), static_cast<char>('a' + i % 26));
    text += piece + '\n';
    file.stream() << piece << '\n';
  }
  file.commit();
  EXPECT_EQ(content_of(path_), text);
}

TEST_F(OutputFileTest, ReplacesALinkAndLeavesWhatItPointsTo) {
  const std::string precious = folder_ + "/precious";
  write_file(precious, "keep me");
  fs::create_symlink(precious, path_);
  write_file(path_, "result");
  EXPECT_EQ(content_of(precious), "keep me");
  EXPECT_EQ(content_of(path_), "result");
}

TEST_F(OutputFileTest, OnAFullDiskIsAnErrorWithTheReasonAndTheDeviceStays) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1'000'000}}) {
    EXPECT_THAT(refusal<Error>([&] { write_file("/dev/full", std::string(bytes, 'x')); }),
                HasSubstr("'/dev/full': No space left"));
  }
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(refusal<Unavailable>([] { write_file("/dev/null", "x"); }), "");
}

TEST_F(OutputFileTest, IntoAPipeIsWrittenInPlace) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = content_of(path_); });
  write_file(path_, "through the pipe");
  reader.join();
  EXPECT_EQ(read, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(path_));
}

TEST_F(OutputFileTest, IntoAPipeThatNobodyReadsYetWaitsUntilASignal) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    read = content_of(path_);
  });
  write_file(path_, "late");
  reader.join();
  EXPECT_EQ(read, "late");
  EXPECT_EXIT(
      {
        watch_stop_signals();
        std::thread stop([] {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          kill(getpid(), SIGTERM);
        });
        const std::string reason = refusal<Stopped>([&] { write_file(path_, "never"); });
        stop.join();
        _exit(reason == "stopped by SIGTERM" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(OutputFileTest, IsKnownToBeWritableBeforeAnythingIsWritten) {
  write_file(path_, "before");
  for (const std::string& good : {path_, folder_ + "/new", std::string("/dev/null")}) {
    EXPECT_EQ(refusal<Unavailable>([&] { require_writable(good); }), "");
  }
  EXPECT_EQ(content_of(path_), "before");
  EXPECT_FALSE(fs::exists(folder_ + "/new"));
  EXPECT_THAT(refusal<Unavailable>([&] { require_writable(folder_ + "/none/result"); }),
              HasSubstr("none/result': No such file"));
  EXPECT_THAT(refusal<Unavailable>([&] { require_writable(folder_); }), HasSubstr("directory"));
}

TEST_F(OutputFileTest, WithoutAFolderIsNamed) {
  EXPECT_THAT(refusal<Unavailable>([&] { write_file(folder_ + "/none/result", "x"); }),
              HasSubstr("none/result': No such file"));
  EXPECT_THAT(refusal<Unavailable>([&] { write_file(folder_, "x"); }), HasSubstr("directory"));
  EXPECT_THAT(refusal([] { write_file("", "x"); }), HasSubstr("must have a name"));
}

}  // namespace
}  // namespace collbench
