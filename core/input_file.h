// The one reader of files that users name: whole, once, and never more than a limit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace collbench {

/// Larger inputs are refused: 256 MiB, more than the records of any run seen.
inline constexpr std::size_t largest_input = std::size_t{256} << 20;

/// The content of a file or of a pipe, whose writer may still be running; a pipe that nothing opens
/// for writing is given up after `pipe_patience_s` seconds. Throws Unavailable, naming file and
/// reason, for what cannot be read (missing, a folder), and InvalidArgument for more than `limit`
/// bytes, which stops reading a device without end.
std::string read_file(const std::string& path, std::size_t limit = largest_input,
                      double pipe_patience_s = 10);

/// The same for what is asked for more than once: a pipe gives its content only once, so it is kept
/// until the program ends. Thread safety: any number of threads.
std::string read_kept(const std::string& path, std::size_t limit = largest_input);

/// Whether a file or a pipe has that name.
bool is_file_or_pipe(const std::string& path);

/// Whether anything but a folder has that name. True as well of what cannot be looked at: reading
/// it says why.
bool names_a_file(const std::string& path);

/// The files in a folder and in those below it, in order of their names; links to folders are not
/// followed. Adds to `unread` what could not be looked at, and why. Throws InvalidArgument for more
/// than 100,000 files.
std::vector<std::string> files_below(const std::string& folder, std::vector<std::string>& unread);

/// Of the kernel's files, which may not be there: the first line, and what follows "KEY:" and
/// blanks in the first line that begins so; `otherwise` if there is none.
std::string first_line(const std::string& path, const std::string& otherwise = "");
std::string value_in_file(const std::string& path, const std::string& key,
                          const std::string& otherwise = "");

/// The message led by the file's name, unless it names it already.
std::string about_file(const std::string& path, const std::string& message);

}  // namespace collbench
