// What a library's own choice plays where its rules are not known: for each size the named method
// that took the nearest time at the largest scale measured.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "heuristics/structure/played_method.h"

namespace collbench {

/// Immutable. Thread safety: const members may run on any number of threads.
class LibraryChoices {
 public:
  LibraryChoices() = default;
  explicit LibraryChoices(std::span<const MeasuredTime> rows);

  /// What `played` is there: itself, unless it is a library_choice. Of a choice that was not
  /// measured beside named methods, what that of another build was; of none, doubling up to 2 KiB
  /// and halving beyond (MPICH's defaults).
  PlayedMethod resolve(const PlayedMethod& played, const MethodKey& method, const Scale& scale,
                       double bytes) const;

 private:
  using MethodsBySize = std::map<double, MethodKey>;  // log2 of bytes

  const MethodsBySize* choices_of(const MethodKey& method) const;

  std::map<MethodKey, MethodsBySize> by_choice_;
};

}  // namespace collbench
