// What reports compare with each other: an algorithm on a back end. How each is called, and the
// colour that its algorithm has in every chart.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "bench/records/case.h"

namespace collbench {

/// Whether contenders need their back ends to be told apart. Simulated cases have none.
bool backends_differ(const std::vector<Case>& cases);

/// "ring@shm", as `--algo` takes it; "ring" without the back end, for a simulated case, and for a
/// library's own algorithm, whose name says where it runs: "mpi".
std::string contender_name(const Case& point, bool with_backend);

/// All but the size that two cases must have in common to be compared: a key, not for readers.
std::string contest_setting(Case point);

/// Tells readers in what the settings of some cases differ. Thread safety: const members may run on
/// any number of threads.
class SettingNames {
 public:
  explicit SettingNames(const std::vector<Case>& all);
  /// ", 4 workers, cold buffers": what differs, of one of the cases; empty if nothing does.
  std::string text(const Case& point) const;
  /// The same without workers, place, type, topology and operator, which titles have anyway.
  std::string beside_title(const Case& point) const;

 private:
  static constexpr std::size_t choices = 16;
  static constexpr std::size_t titled = 5;  // the first of them
  static std::array<std::string, choices> words(const Case& point);
  std::string text_from(std::size_t first, const Case& point) const;

  std::array<bool, choices> differs_{};
};

/// How many colours charts have: Paul Tol's bright scheme, which colour-blind people tell apart.
inline constexpr std::size_t chart_colours = 7;
/// "#4477AA". Places beyond the last colour begin again.
std::string_view chart_colour(std::size_t place);

/// A place for each algorithm of the cases, by which all charts colour it. It depends only on which
/// algorithms there are: each has its own place, and the same beside others, as long as these leave
/// it free.
std::map<std::string, std::size_t> algorithm_places(const std::vector<Case>& cases);

}  // namespace collbench
