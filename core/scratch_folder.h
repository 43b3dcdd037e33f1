// A folder of its own for files that nobody keeps: made below the system's temporary folder, where
// no other user can look into it, and removed with all that is in it.
#pragma once

#include <string>
#include <string_view>

namespace collbench {

/// Thread safety: const members may run on any number of threads.
class ScratchFolder {
 public:
  /// `name` begins the folder's name. Throws Unavailable if none can be made.
  explicit ScratchFolder(std::string_view name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace collbench
