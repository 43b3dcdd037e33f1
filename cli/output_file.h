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

/// Throws Unavailable where a file that one of these options names surely cannot be written, and
/// InvalidArgument where several name standard output: before the long work whose results go there.
void require_writable(const Settings& settings, std::initializer_list<const char*> options);

enum class FormatsOf { records_and_comparisons, comparisons };

/// An option for the file of each format, "--junit FILE"; the table for people has none.
std::vector<OptionRow> file_rows(const char* group, FormatsOf what);

}  // namespace collbench
