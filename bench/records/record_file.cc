#include "bench/records/record_file.h"

#include "core/error.h"
#include "core/input_file.h"
#include "core/output_file.h"

namespace collbench {

void write_records(const std::string& path, const RecordFile& file) {
  write_file(path, to_json(file));
}

RecordFile read_records(const std::string& path) {
  const std::string text = read_file(path);
  try {
    return records_from_json(text);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(about_file(path, error.what()));
  }
}

RecordLog::RecordLog(const std::string& path, const Environment& environment) : file_(path) {
  write_line(environment_line(environment));
}

std::string RecordLog::append(const Record& record) {
  std::string line = to_json(record);
  write_line(line);
  return line;
}

void RecordLog::write_line(const std::string& line) {
  file_.stream() << line << '\n';
  file_.show();
}

}  // namespace collbench
