#include "cli/terminal.h"

#include <iostream>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/settings.h"
#include "core/environment_variable.h"
#include "core/suggest.h"

namespace collbench {
namespace {

bool is_set(const char* variable) { return !environment_variable(variable).empty(); }

bool is_dumb_terminal() {
  const std::string term = environment_variable("TERM");
  return term.empty() || term == "dumb";
}

bool automatic_colour(int descriptor) {
  if (is_set("NO_COLOR")) return false;
  if (is_set("CLICOLOR_FORCE") && environment_variable("CLICOLOR_FORCE") != "0") return true;
  return isatty(descriptor) == 1 && !is_dumb_terminal();
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

struct Speaker {
  std::string prefix;
  bool for_all = true;
};
Speaker& speaker_of_process() {
  static Speaker speaker;
  return speaker;
}

}  // namespace

void speak_as(const std::string& name, bool for_all) {
  speaker_of_process() = {fmt::format("[{}] ", name), for_all};
}

void speak_as_rank(int rank) { speak_as(fmt::format("rank {}", rank), rank == 0); }

const std::string& speaker() { return speaker_of_process().prefix; }

bool speaks_for_all() { return speaker_of_process().for_all; }

std::string error_prefix() {
  const std::string text = speaker() + "collbench: error: ";
  return automatic_colour(STDERR_FILENO) ? fmt::format("\033[1;31m{}\033[0m", text) : text;
}

bool use_colour(const std::string& when, int descriptor) {
  if (when == "always") return true;
  if (when == "never") return false;
  require_known("--color", when, option_words("color"));
  return automatic_colour(descriptor);
}

bool utf8_locale() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!is_set(variable)) continue;
    const std::string value = environment_variable(variable);
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

bool use_progress(const std::string& when) {
  if (when == "on") return true;
  if (when == "off") return false;
  require_known("--progress", when, option_words("progress"));
  return isatty(STDERR_FILENO) == 1 && !is_dumb_terminal() && !is_set("CI");
}

void ProgressLine::show(const std::string& text) {
  if (!shown_) return;
  std::cerr << "\r\033[K" << (speaker() + text).substr(0, terminal_width() - 1) << std::flush;
  dirty_ = true;
}

void ProgressLine::clear() {
  if (dirty_) std::cerr << "\r\033[K" << std::flush;
  dirty_ = false;
}

}  // namespace collbench
