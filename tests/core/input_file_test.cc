#include "core/input_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/refusal.h"

#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class InputFileTest : public testing::Test {
 protected:
  InputFileTest() { std::filesystem::create_directories(folder_); }
  ~InputFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string pipe() const {
    EXPECT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    return path("pipe");
  }

 private:
  std::string folder_ = testing::TempDir() + "collbench_input_file" + std::to_string(getpid());
};

TEST_F(InputFileTest, IsEveryByteOfAFile) {
  const std::string bytes("a\0b\r\n\xff", 6);
  std::ofstream(path("file"), std::ios::binary) << bytes;
  EXPECT_EQ(read_file(path("file")), bytes);
  std::ofstream(path("file"), std::ios::binary) << "";
  EXPECT_EQ(read_file(path("file")), "");
  EXPECT_EQ(read_file("/dev/null"), "");
  EXPECT_FALSE(read_file("/proc/self/cmdline").empty()) << "whose size is said to be 0";
}

TEST_F(InputFileTest, NamesFileAndReason) {
  EXPECT_EQ(refusal<Unavailable>([&] { read_file("/nowhere/x"); }),
            "cannot read '/nowhere/x': No such file or directory");
  EXPECT_EQ(refusal<Unavailable>([&] { read_file("/"); }), "cannot read '/': Is a directory");
}

TEST_F(InputFileTest, WhatCannotBeLookedAtIsAFileThatCannotBeRead) {
  EXPECT_FALSE(names_a_file("/nowhere/x"));
  EXPECT_FALSE(names_a_file("/dev/null/x"));
  EXPECT_FALSE(names_a_file("/"));
  EXPECT_TRUE(names_a_file("/dev/null"));
  const std::string longer_than_names(5000, 'a');
  EXPECT_TRUE(names_a_file(longer_than_names));
  EXPECT_THAT(refusal<Unavailable>([&] { read_file(longer_than_names); }),
              HasSubstr("File name too long"));
}

TEST_F(InputFileTest, FilesOfAFolderAreInOrderAndWhatCannotBeLookedAtIsNamed) {
  std::filesystem::create_directories(path("b/deep"));
  for (const char* name : {"c", "b/deep/2", "b/1", "a"}) std::ofstream(path(name)) << name;
  std::filesystem::create_symlink("loop", path("loop"));
  std::filesystem::create_directory_symlink(".", path("b/up"));
  std::filesystem::create_symlink("../a", path("b/to_a"));
  std::vector<std::string> unread;
  EXPECT_THAT(
      files_below(path(""), unread),
      testing::ElementsAre(path("a"), path("b/1"), path("b/deep/2"), path("b/to_a"), path("c")));
  EXPECT_THAT(unread, testing::ElementsAre(AllOf(HasSubstr("/loop: "), HasSubstr("links"))));
  unread.clear();
  EXPECT_THAT(files_below(path("missing"), unread), testing::IsEmpty());
  EXPECT_THAT(unread, testing::ElementsAre(HasSubstr("missing: No such")));
}

TEST_F(InputFileTest, ReadsNothingWithoutALimit) {
  constexpr std::size_t limit = 2 << 20;
  const auto too_large =
      AllOf(HasSubstr("is larger than 2 MiB"), HasSubstr("the most that is read"));
  EXPECT_THAT(refusal([&] { read_file("/dev/zero", limit); }), too_large);
  std::ofstream(path("file")) << std::string(limit, 'x');
  EXPECT_EQ(read_file(path("file"), limit).size(), limit);
  std::ofstream(path("file"), std::ios::app) << 'x';
  EXPECT_THAT(refusal([&] { read_file(path("file"), limit); }), too_large);
  std::filesystem::resize_file(path("file"), std::uintmax_t{1} << 40);
  EXPECT_THAT(refusal([&] { read_file(path("file"), limit); }), too_large) << "a hole of 1 TiB";
}

TEST_F(InputFileTest, ReadsAPipeToItsEnd) {
  const std::string name = pipe();
  const std::string text(300'000, 'x');  // more than a pipe holds
  std::thread writer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));  // the reader is there first
    std::ofstream out(name);
    out << text.substr(0, 10) << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // a pause is no end
    out << text.substr(10);
  });
  EXPECT_EQ(read_file(name), text);
  writer.join();
}

TEST_F(InputFileTest, APipeThatNothingWritesToIsGivenUp) {
  const std::string name = pipe();
  EXPECT_THAT(refusal<Unavailable>([&] { read_file(name, largest_input, 0.2); }),
              HasSubstr("a pipe that nothing wrote to for 0.2 s"));
}

TEST_F(InputFileTest, APipeThatIsAskedForTwiceIsKept) {
  const std::string name = pipe();
  std::thread writer([&] { std::ofstream(name) << "text"; });
  EXPECT_TRUE(is_file_or_pipe(name));
  EXPECT_EQ(read_kept(name), "text");
  writer.join();
  EXPECT_EQ(read_kept(name), "text");
  EXPECT_FALSE(is_file_or_pipe("/"));
  std::ofstream(path("file")) << "old";
  EXPECT_EQ(read_kept(path("file")), "old");
  std::ofstream(path("file")) << "new";
  EXPECT_EQ(read_kept(path("file")), "new");
}

}  // namespace
}  // namespace collbench
