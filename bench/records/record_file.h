// Files of records: JSON Lines that grow as a run goes on, and one JSON object written at the end.
//
// JSON Lines (an environment line, then one record per line) keep what was measured when a run is
// killed. The single object is written beside its name and renamed, so a reader never sees half.
#pragma once

#include <string>

#include "bench/records/record_json.h"
#include "core/output_file.h"

namespace collbench {

/// Writes through a temporary file in the same folder and rename(), which leaves what was there if
/// that fails. Throws Unavailable naming the file if it cannot be opened, Error if the disk is
/// full.
void write_records(const std::string& path, const RecordFile& file);

/// Reads a file of either form; a last line cut short is left out. Throws Unavailable or
/// InvalidArgument naming the file.
RecordFile read_records(const std::string& path);

/// Appends records to a JSON Lines file as they come. Thread safety: belongs to one thread.
class RecordLog {
 public:
  /// Replaces the file, or the link, of that name. Throws Unavailable naming it if it cannot be
  /// written.
  RecordLog(const std::string& path, const Environment& environment);
  /// The line that was written. Throws Error if the disk is full: what was appended before can be
  /// read.
  std::string append(const Record& record);

 private:
  void write_line(const std::string& line);

  OutputFile file_;
};

}  // namespace collbench
