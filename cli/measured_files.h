// Measurements from the files that a command names.
#pragma once

#include <string>
#include <vector>

#include "heuristics/measurement.h"

namespace collbench {

/// The tables in "A.csv,nodes=2,B.csv": split at commas, with "nodes=2" left to the file before it.
std::vector<std::string> table_names(const std::string& tables);

/// Reads all of them. Files of a folder that are no tables, and skipped rows, are reported
/// on standard error; rows of other collectives are left out. Throws as read_tables() does, and
/// InvalidArgument if nothing is left.
std::vector<MeasuredTable> read_measured_files(const std::vector<std::string>& paths,
                                               CollectiveKind kind = CollectiveKind::all_reduce);
/// Leaves the rows of one collective of all ranks with equal shares, and notes of how many others
/// there were.
void keep_collective(MeasuredTable& table, CollectiveKind kind);
/// All rows of all tables.
std::vector<MeasuredTime> all_rows(const std::vector<MeasuredTable>& tables);

/// Rows of such tables to choose by: of one collective, and without those of `auto` on back ends
/// that have no library to choose. `notes` says what was left out. Throws as read_tables() does.
std::vector<MeasuredTime> rows_to_choose_by(const std::string& tables, CollectiveKind kind,
                                            std::vector<std::string>& notes);

/// Leaves out what ranks that share the cores of one host took with our back ends, where `topology`
/// names a machine of the catalogue or by its links: that is another place. A file may describe the
/// host. Throws InvalidArgument, saying how to choose for that host, if no row is left.
void leave_out_hosts(const std::string& topology, std::vector<MeasuredTime>& rows,
                     std::vector<std::string>& notes);

/// "3.2 %".
std::string percent(double share);

}  // namespace collbench
