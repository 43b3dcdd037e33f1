// A shared library loaded at run time, for vendor libraries that are not needed to build or to
// start collbench: the CUDA driver, NCCL, NVML, oneDNN.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

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
  /// Points `function` at the symbol. Throws Unavailable, naming library and symbol, if there is
  /// none.
  template <typename Function>
  void bind(Function*& function, const char* symbol) const {
    function = reinterpret_cast<Function*>(find(symbol));
    if (function == nullptr) refuse_without(symbol);
  }

 private:
  [[noreturn]] void refuse_without(const char* symbol) const;

  std::string name_;
  std::shared_ptr<void> handle_;
};

/// The first of `names` that can be loaded. Throws Unavailable with the linker's words on the first
/// name, and `advice` behind them.
SharedLibrary load_first(std::initializer_list<const char*> names, const std::string& advice);

/// A vendor's library that was looked for.
struct FoundLibrary {
  std::string version;      // "2.27.7"
  std::string path;         // the file that was loaded
  std::string unavailable;  // why there is none that can be used; empty if there is
};

/// Whether a library may lack a function, as older versions do.
enum class Necessity : std::uint8_t { required, optional };

template <typename Signature>
class LibraryFunction;

/// A function of a library, by its name there. Throws as bind() if it is required and missing.
template <typename Result, typename... Parameters>
class LibraryFunction<Result(Parameters...)> {
 public:
  LibraryFunction(const SharedLibrary& library, const char* name,
                  Necessity necessity = Necessity::required)
      : name_(name) {
    if (necessity == Necessity::required) {
      library.bind(function_, name);
    } else {
      function_ = reinterpret_cast<Function*>(library.find(name));
    }
  }

  /// Whether the library has it; else it must not be called.
  explicit operator bool() const { return function_ != nullptr; }
  Result operator()(Parameters... parameters) const { return function_(parameters...); }
  /// Without the version that vendors append: "cuMemAlloc" for cuMemAlloc_v2.
  std::string_view name() const { return name_.substr(0, name_.rfind("_v")); }

 private:
  using Function = Result(Parameters...);
  Function* function_ = nullptr;
  std::string_view name_;
};

}  // namespace collbench
