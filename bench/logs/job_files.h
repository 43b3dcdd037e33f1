// The log of a job from files and folders.
#pragma once

#include <string>
#include <vector>

#include "bench/logs/job_log.h"

namespace collbench {

/// Larger files are refused, also what a compressed one unfolds to: a rank's Inspector file of a
/// million verbose lines has 1 GiB.
inline constexpr std::size_t largest_log = std::size_t{1} << 30;

/// Reads files, and all files below folders in the order of their names. Each is recognised by its
/// content, and unpacked first if that is gzip's. Of a folder, files that are no logs are noted and
/// left out; a file that is named must be one. Throws Unavailable for what cannot be read, and
/// InvalidArgument if nothing is a log.
JobLog read_job(const std::vector<std::string>& paths);

/// Throws InvalidArgument where something was in the logs, and all of it was left out.
void require_content(const JobLog& job);

/// What a gzip stream, or several one behind another, unfolds to. The end of one that was cut short
/// is missing, and `cut` then true. Throws InvalidArgument, FILE: REASON, for what is not gzip's
/// and beyond `limit` bytes.
std::string unpacked(std::string_view gzip, const std::string& file, std::size_t limit, bool& cut);

}  // namespace collbench
