#include "core/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include "core/error.h"

namespace collbench {

SharedLibrary::SharedLibrary(const std::string& name) : name_(name) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) throw Unavailable(dlerror());
  handle_ = std::shared_ptr<void>(handle, [](void* loaded) { dlclose(loaded); });
}

std::string SharedLibrary::path() const {
  link_map* map = nullptr;
  const bool known = dlinfo(handle_.get(), RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0;
  return known && map->l_name[0] != '\0' ? map->l_name : name_;
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_.get(), symbol); }

void SharedLibrary::refuse_without(const char* symbol) const {
  throw Unavailable(path() + " has no " + symbol + ": it is another library or an old version");
}

SharedLibrary load_first(std::initializer_list<const char*> names, const std::string& advice) {
  std::string why;
  for (const char* name : names) {
    try {
      return SharedLibrary(name);
    } catch (const Unavailable& error) {
      if (why.empty()) why = error.what();
    }
  }
  throw Unavailable(why + advice);
}

}  // namespace collbench
