// What the terminal can show, and the progress line.
#pragma once

#include <string>

namespace collbench {

/// Prefixes every later line on standard error with "[rank 3] ".
void speak_as_rank(int rank);
/// The same with another name, "[ps 1] "; one process of a run speaks for all of it.
void speak_as(const std::string& name, bool for_all);
/// "[rank 3] ", or "" if no rank was named.
const std::string& speaker();
/// Whether this process is rank 0 or the chief, or no rank was named.
bool speaks_for_all();

/// "collbench: error: ", after the speaker, in red when standard error is a terminal that takes
/// colour.
std::string error_prefix();

/// Whether to colour `descriptor` (1 or 2): `when` is "always", "never" or "auto". Auto colours a
/// terminal unless NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE colours pipes too.
/// Throws InvalidArgument for another word.
bool use_colour(const std::string& when, int descriptor);

/// Whether the locale's character set is UTF-8.
bool utf8_locale();

/// Whether to show progress on standard error: `when` is "on", "off" or "auto". Auto shows it on a
/// terminal outside continuous integration. Throws InvalidArgument for another word.
bool use_progress(const std::string& when);

/// One line on standard error that is rewritten in place. Thread safety: one thread.
class ProgressLine {
 public:
  explicit ProgressLine(bool shown) : shown_(shown) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(const std::string& text);
  void clear();

 private:
  bool shown_;
  bool dirty_ = false;
};

}  // namespace collbench
