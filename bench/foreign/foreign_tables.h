// Tables of other benchmarks, read into measurements: nccl-tests' and rccl-tests' text and JSON,
// OSU and Intel MPI Benchmarks, Google Benchmark's JSON, CSV, and our own records.
//
// The format is recognised from the content. A row that cannot be a measurement (time 0, NaN, a
// negative size, text where a number belongs) is refused with FILE:LINE. A missing column is named.
// Rows with a wrong result are kept with a note. Lines of nccl-tests that are not part of the table
// (output of launchers, warnings) are passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/records/record_json.h"
#include "heuristics/measurement.h"

namespace collbench {

/// What a table does not say of itself, or says differently. 0 and empty: not given. What is given
/// here holds, but one number of ranks is not that of rows at several.
struct TableHints {
  int ranks = 0;
  int nodes = 0;
  int gpus_per_process = 0;
  std::string system = {};
  std::string library = {};
  std::string algorithm = {};
  /// Whose rows are wanted of tables that do not name it in each row.
  CollectiveKind collective = CollectiveKind::all_reduce;
};

/// Format of the text: "nccl-tests", "nccl-tests json", "rccl-tests json", "osu", "imb",
/// "google-benchmark", "csv", "pico", "collbench". Empty if it is none of them.
std::string foreign_format(std::string_view text);

/// Reads one text. A CSV file may hold several systems. Throws InvalidArgument as FILE:LINE: for
/// what it cannot be, and if ranks are neither in it nor in `hints`.
MeasuredTable read_foreign(std::string_view text, const std::string& file,
                           const TableHints& hints = {});

/// Reads a file, or every *.csv, *.txt, *.out, *.log, *.json and *.jsonl below a folder, in the
/// order of their names; files of a folder that hold no table are listed in `skipped`. A path may
/// end in hints: "job.txt,ranks=16,nodes=2,system=mine,library=nccl,algorithm=ring". Throws
/// Unavailable for what cannot be read.
std::vector<MeasuredTable> read_tables(const std::string& path, std::vector<std::string>& skipped,
                                       CollectiveKind kind = CollectiveKind::all_reduce);

/// As records, for comparing and reporting: one sample each, the stated time. The back end is the
/// library, the environment says source, system and nodes.
RecordFile to_records(const MeasuredTable& table);
/// What `path` holds, as one file of records: our own with all samples, or the tables that
/// read_tables() reads, of which each is a round. What was left out of them is added to `notes`;
/// `lost`, unless null, becomes the number of files of a folder that are no tables. Throws as
/// read_tables() and read_records(), and InvalidArgument if there is none.
RecordFile read_as_records(const std::string& path, std::vector<std::string>& notes,
                           std::size_t* lost = nullptr);
/// What is wrong with a path in which read_tables() found nothing and skipped these.
std::string no_table_text(const std::vector<std::string>& skipped);
/// Our own records as measurements; skipped ones, and those of groups side by side or of shares of
/// chosen sizes, are left out with a note. All ranks of a real run are on one node unless the
/// record says otherwise.
MeasuredTable to_measurements(const RecordFile& file, const std::string& name);

}  // namespace collbench
