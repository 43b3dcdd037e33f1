#include "transports/cuda/nccl_library.h"

#include <utility>

#include <fmt/format.h>
#include <glob.h>

#include "core/environment_variable.h"
#include "core/error.h"
#include "core/shared_library.h"

namespace collbench {
namespace {

constexpr const char* usual_name = "libnccl.so.2";
constexpr const char* variable = "COLLBENCH_NCCL_LIBRARY";
constexpr int oldest = 21800;
constexpr int first_unknown = 30000;

std::vector<std::string> matches(const std::string& pattern) {
  std::vector<std::string> files;
  glob_t found{};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return files;
}

// Where Python packages lie: of the active environment, of the user, of the system.
std::vector<std::string> python_folders() {
  std::vector<std::string> folders;
  for (const char* prefix : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string root = environment_variable(prefix);
    if (!root.empty()) folders.push_back(root + "/lib/python3*/site-packages");
  }
  const std::string home = environment_variable("HOME");
  if (!home.empty()) folders.push_back(home + "/.local/lib/python3*/site-packages");
  for (const char* system :
       {"/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages",
        "/usr/lib/python3*/site-packages", "/usr/lib/python3/dist-packages",
        "/opt/conda/lib/python3*/site-packages"}) {
    folders.emplace_back(system);
  }
  return folders;
}

// Where the CUDA Toolkit and NVIDIA's HPC SDK are.
std::vector<std::string> toolkit_folders() {
  std::vector<std::string> folders;
  for (const char* named : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string root = environment_variable(named);
    if (!root.empty()) folders.push_back(root + "/lib*");
  }
  for (const char* usual : {"/usr/local/cuda/lib*", "/usr/local/cuda-*/lib*",
                            "/opt/nvidia/hpc_sdk/Linux_*/*/comm_libs/nccl/lib"}) {
    folders.emplace_back(usual);
  }
  return folders;
}

int version_of(const SharedLibrary& library, const std::string& origin) {
  const LibraryFunction<int(int*)> get_version{library, "ncclGetVersion", Necessity::optional};
  if (!get_version) {
    throw Unavailable(fmt::format("{} is not NCCL: it has no ncclGetVersion", origin));
  }
  int number = 0;
  if (const int error = get_version(&number); error != nccl_success) {
    throw Unavailable(fmt::format("ncclGetVersion of {} failed with error {}", origin, error));
  }
  return number;
}

LoadedNccl open(const SharedLibrary& library, const std::string& origin) {
  const int number = version_of(library, origin);
  const std::string version = nccl_version(number);
  if (number < oldest || number >= first_unknown) {
    throw Unavailable(fmt::format("{} is NCCL {}; collbench can use {} and later versions of 2",
                                  library.path(), version, nccl_version(oldest)));
  }
  return {NcclFunctions(library), number, version, library.path()};
}

SharedLibrary load_named(const std::string& name) {
  try {
    return SharedLibrary(name);
  } catch (const Unavailable& error) {
    throw Unavailable(fmt::format("{}={} cannot be loaded: {}", variable, name, error.what()));
  }
}

// The first that can be used; if none, what was wrong with the first.
LoadedNccl open_first() {
  const std::string named = environment_variable(variable);
  if (!named.empty()) return open(load_named(named), fmt::format("{}={}", variable, named));
  std::string why;
  for (const std::string& name : nccl_candidates()) {
    try {
      return open(SharedLibrary(name), name);
    } catch (const Unavailable& error) {
      if (why.empty()) why = error.what();
    }
  }
  throw Unavailable(fmt::format("NCCL was not found ({}); {} may name its file", why, variable));
}

}  // namespace

std::vector<std::string> nccl_candidates() {
  const std::string named = environment_variable(variable);
  if (!named.empty()) return {named};
  std::vector<std::string> candidates{usual_name};
  const auto add = [&](const std::string& folder) {
    for (std::string& file : matches(folder + "/" + usual_name)) {
      candidates.push_back(std::move(file));
    }
  };
  for (const std::string& folder : python_folders()) add(folder + "/nvidia/nccl/lib");
  for (const std::string& folder : toolkit_folders()) add(folder);
  return candidates;
}

FoundLibrary find_nccl() {
  try {
    const LoadedNccl found = open_first();
    return {found.version, found.path, ""};
  } catch (const Error& error) {
    return {"", "", error.what()};
  }
}

const LoadedNccl& load_nccl() {
  static const auto* const loaded = new LoadedNccl(open_first());
  return *loaded;
}

std::string nccl_version(int number) {
  const int major = number < 10000 ? number / 1000 : number / 10000;
  const int rest = number - major * (number < 10000 ? 1000 : 10000);
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

}  // namespace collbench
