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
  /// measured beside named methods, doubling up to 2 KiB and halving beyond (MPICH's defaults).
  PlayedMethod resolve(const PlayedMethod& played, const MethodKey& method, const Scale& scale,
                       double bytes) const;

 private:
  std::map<std::string, std::map<double, MethodKey>> by_size_;  // algorithm, log2 of bytes
};

}  // namespace collbench
