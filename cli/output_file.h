// The files that options name for results.
#pragma once

#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/settings.h"

namespace collbench {

/// Hands `writer` the file `path`, or standard output if that is "-"; does nothing if it is
/// empty. Throws as OutputFile does (core/output_file.h).
void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer);

/// While it lives, and an option of the command hands a file that is no report ("--trace -") to
/// standard output, what is printed there for people goes to standard error: the file is alone.
/// Thread safety: one at a time, before and after what prints.
class TextBesideFile {
 public:
  explicit TextBesideFile(const Settings& settings);
  ~TextBesideFile();
  TextBesideFile(const TextBesideFile&) = delete;
  TextBesideFile& operator=(const TextBesideFile&) = delete;
};

/// Of all options that name a file to write, and the format that is asked for on standard output:
/// throws InvalidArgument where two of them name one file, or both go to standard output. A device
/// or pipe, such as /dev/null, may take several. Reads no option (Settings::unread_flags()).
void require_distinct_outputs(const Settings& settings);
/// Throws InvalidArgument where a file or folder that the command would write is one that it reads:
/// the measured table would be gone. Reads no option.
void require_inputs_kept(const Settings& settings);

/// Throws Unavailable where a file that one of these options names surely cannot be written: before
/// the long work whose results go there.
void require_writable(const Settings& settings, std::initializer_list<const char*> options);

enum class FormatsOf { records_and_comparisons, comparisons };

/// An option for the file of each format, "--junit FILE"; the table for people has none.
std::vector<OptionRow> file_rows(const char* group, FormatsOf what);

}  // namespace collbench
