// Records as JSON, schema version 1 (results/schema.json).
//
// The unit is the last word of a key. There is no NaN and no infinity: what is not known is null.
#pragma once

#include <string>
#include <vector>

#include "bench/records/record.h"

namespace collbench {

/// What a file of records holds.
struct RecordFile {
  Environment environment;
  std::vector<Record> records;
};

/// One line without a line end. Holds a summary beside the raw samples, for readers that do not
/// compute one; it is not read back.
std::string to_json(const Record& record);
/// The whole file as one object, in which each record is a line.
std::string to_json(const RecordFile& file);
/// The same of records that to_json(Record) has written.
std::string records_json(const Environment& environment, const std::vector<std::string>& records);
/// The first line of a JSON Lines file, whose further lines are to_json(Record).
std::string environment_line(const Environment& environment);
/// A case as one line, for worker processes.
std::string to_json(const Case& point);

/// Read them back, records_from_json() both forms of a file. Throw InvalidArgument naming the place
/// for text that is not of the schema, and for a schema version other than ours.
Record record_from_json(const std::string& text);
RecordFile records_from_json(const std::string& text);
Case case_from_json(const std::string& text);

}  // namespace collbench
