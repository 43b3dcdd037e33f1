// The files that options name for results.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace collbench {

/// Hands `writer` the file `path`, or standard output if that is "-"; does nothing if it is
/// empty. Throws as OutputFile does (core/output_file.h).
void write_output(const std::string& path, const std::function<void(std::ostream&)>& writer);

}  // namespace collbench
