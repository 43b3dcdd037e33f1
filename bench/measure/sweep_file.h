// A file of records that a sweep fills: it grows by one line per case, survives a kill, and is
// taken up again where it ended. One process fills it at a time.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/records/record_file.h"
#include "core/descriptor.h"

namespace collbench {

/// Where the environment of a sweep holds the checksum of a machine; what is equal but for that is
/// not the same case.
std::string machine_key(const std::string& name);
/// Of what the name describes: links, some routes, costs, and of a calibrated file all of it.
/// Throws as machine() does.
std::string checksum_of_machine(const std::string& name);

/// Thread safety: belongs to one thread.
class SweepFile {
 public:
  /// Keeps the records of an existing file unless `fresh`, but for those of machines that have
  /// changed (see machine_key()); a last line cut short is dropped.
  /// Throws Unavailable if it cannot be written or another process fills it, InvalidArgument if it
  /// is no file of records, or has measured ones.
  SweepFile(const std::string& path, const Environment& environment, bool fresh);

  /// Whether the file holds a record of exactly this case.
  bool has(const Case& point) const { return cases_.count(to_json(point)) > 0; }
  void append(const Record& record);
  const std::vector<Record>& records() const { return records_; }
  /// Names of machines whose records were dropped.
  const std::set<std::string>& changed_machines() const { return changed_machines_; }

 private:
  /// Reads the records that still hold, and adds to `environment` what it says of other machines.
  void take_up(const std::string& path, Environment& environment);

  Descriptor lock_;  // of the file held open under a lock, which ends with the process
  std::optional<RecordLog> log_;
  std::vector<Record> records_;
  std::set<std::string> cases_;
  std::set<std::string> changed_machines_;
};

/// One part of a sweep: the cases whose number modulo `count` is `index`.
struct Shard {
  int index = 0;
  int count = 1;
  std::string source;  // "--shard", "Slurm array", ...; empty if the sweep is whole
};
/// "I/N", "/N" with I from the environment, or "auto", which asks the environment for both: Slurm
/// arrays, indexed Jobs of Kubernetes, Open MPI, PMI, PMIx and steps of Slurm. Kubernetes does not
/// provide N: give it as "/N" or in COLLBENCH_SHARDS. Throws InvalidArgument.
Shard parse_shard(const std::string& text);
/// "out.jsonl" as "out.3-of-8.jsonl"; the path itself if the sweep is whole.
std::string shard_path(const std::string& path, const Shard& shard);

/// Where the environment of a part of a sweep of all these cases holds its number:
/// "sweep 1f2e3d4c, parts of 4". The checksum is that of the cases.
std::string part_key(const Shard& shard, const std::vector<Case>& all);

/// Joins record files: equal cases with equal exact figures become one record, and so do equal
/// measured records that say when they were made: they are one and the same; environments that
/// differ keep every value. `notes` says which records and files came twice, and which parts of a
/// sweep are not there. If all are simulated, they come in an order that does not depend on the
/// parts: by ranks, machine and size. Throws InvalidArgument, naming case and files, if exact
/// figures differ, or if a name means different machines.
RecordFile merge_records(const std::vector<std::string>& paths, std::vector<std::string>& notes);

}  // namespace collbench
