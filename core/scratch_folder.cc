#include "core/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/file_error.h"

namespace collbench {

ScratchFolder::ScratchFolder(std::string_view name) {
  std::error_code failure;
  path_ = std::filesystem::temp_directory_path(failure) / (std::string(name) + "-XXXXXX");
  if (failure || mkdtemp(path_.data()) == nullptr) {
    throw FileUnavailable("cannot make a temporary folder '" + path_ +
                          "': " + (failure ? failure.message() : std::strerror(errno)));
  }
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace collbench
