// A shared library loaded at run time, for vendor libraries that are not needed to build or to
// start collbench: the CUDA driver, NCCL, NVML.
#pragma once

#include <memory>
#include <string>

namespace collbench {

/// Thread safety: const members may run on any number of threads.
class SharedLibrary {
 public:
  /// Loads `name` as the dynamic linker finds it. Throws Unavailable with the linker's words.
  explicit SharedLibrary(const std::string& name);

  /// The file that was loaded.
  std::string path() const;
  /// Null if the library has no such symbol.
  void* find(const char* symbol) const;

  /// Points `function` at the symbol; null if there is none.
  template <typename Function>
  void bind_optional(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
  }
  /// The same; throws Unavailable, naming library and symbol, if there is none.
  template <typename Function>
  void bind(Function*& function, const char* symbol) const {
    bind_optional(function, symbol);
    if (function == nullptr) refuse_without(symbol);
  }

 private:
  [[noreturn]] void refuse_without(const char* symbol) const;

  std::string name_;
  std::shared_ptr<void> handle_;
};

/// The value of an environment variable, or `otherwise` where it is not set or empty.
std::string environment_value(const char* variable, const std::string& otherwise);

}  // namespace collbench
