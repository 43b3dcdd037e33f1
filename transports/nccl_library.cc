#include "transports/nccl_library.h"

#include <cstdlib>
#include <memory>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

namespace collbench {
namespace {

constexpr const char* usual_name = "libnccl.so.2";
constexpr const char* variable = "COLLBENCH_NCCL_LIBRARY";

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

std::string path_of(void* library, const std::string& name) {
  link_map* map = nullptr;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  return known && map->l_name[0] != '\0' ? map->l_name : name;
}

}  // namespace

NcclLibrary find_nccl() {
  const char* wanted = std::getenv(variable);
  const bool named = wanted != nullptr && *wanted != '\0';
  const std::string name = named ? wanted : usual_name;
  const std::string origin = named ? fmt::format("{}={}", variable, name) : name;
  const Library library(dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL));
  NcclLibrary found;
  if (library == nullptr) {
    const char* error = dlerror();
    found.unavailable =
        named ? fmt::format("{} cannot be loaded: {}", origin, error)
              : fmt::format("NCCL was not found ({}); {} may name its file", error, variable);
    return found;
  }
  using GetVersion = int (*)(int*);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library.get(), "ncclGetVersion"));
  if (get_version == nullptr) {
    found.unavailable = fmt::format("{} is no NCCL: it has no ncclGetVersion", origin);
    return found;
  }
  int number = 0;
  if (const int error = get_version(&number); error != 0) {
    found.unavailable = fmt::format("ncclGetVersion of {} failed with error {}", origin, error);
    return found;
  }
  found.version = nccl_version(number);
  found.path = path_of(library.get(), name);
  return found;
}

std::string nccl_version(int number) {
  const int major = number < 10000 ? number / 1000 : number / 10000;
  const int rest = number - major * (number < 10000 ? 1000 : 10000);
  return fmt::format("{}.{}.{}", major, rest / 100, rest % 100);
}

}  // namespace collbench
