// Readers of one format each, which read_foreign() (bench/foreign/foreign_tables.h) chooses from,
// and the reading of lines and numbers that they share. They fill in scale and names from the text;
// the hints are applied by read_foreign().
//
// All throw InvalidArgument as FILE:LINE: for what a table cannot hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "heuristics/measurement.h"

namespace collbench {

/// What `read` gives; what it refuses is led by the place.
template <typename Read>
auto at_place(const std::string& place, Read read) {
  try {
    return read();
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(place + ": " + e.what());
  }
}

/// One line of a text and its number, from 1.
struct TextLine {
  std::string_view text;
  int number = 0;
};
std::vector<TextLine> lines_of(std::string_view text);

/// Lower-case letters only: "nccl:_allgather_base" is "ncclallgatherbase".
std::string letters_of(std::string_view name);

/// Numbers of a table, with what they are in the message. Finite and at least 0; "3 us" is refused.
double table_number(std::string_view word, const std::string& what, const std::string& place);
std::int64_t table_integer(std::string_view word, const std::string& what,
                           const std::string& place);
/// Nanoseconds in "ns", "us", "ms" or "s"; nothing for another word.
std::optional<double> ns_of_unit(std::string_view unit);
/// A count that some versions write as 0.000000e+00; part of one is one.
std::int64_t whole_count(double value);

/// A row of a library's benchmark, which prints means and does not say what the library chose.
MeasuredTime mean_of(const std::string& library);

/// Reads the names of type and operator. Throws InvalidArgument led by the place.
void read_names(MeasuredTime& row, std::string_view type, std::string_view op,
                const std::string& place);

/// A copy of `row` with the time of one place. Throws if it is 0: a time that was not resolved.
MeasuredTime timed(const MeasuredTime& row, double microseconds, bool in_place,
                   const std::string& place);

struct TableHints;  // bench/foreign/foreign_tables.h
/// Of the hints the collective whose rows are wanted counts, for tables of which each is of one.
using ReadTable = MeasuredTable(std::string_view text, const std::string& file,
                                const TableHints& hints);

/// The table of nccl-tests and rccl-tests; other output around it is passed over. Which collective
/// it is of says the name of the test, and where that is missing, the columns.
ReadTable read_nccl_text;
/// The same of whatever collectives: `batch` is what the table says of its own, "all_gather", else
/// its number from the second on.
MeasuredTable read_nccl_tables(std::string_view text, const std::string& file);
/// Those of the collective among the tables of MPI's benchmarks (bench/foreign/mpi_benchmarks.h);
/// others are left out with a note. Sizes that are those of shares become those of the vector,
/// where the hints or the table say how many ranks there are. Of what has a root, of which ranks
/// leave early, the time is that of the slowest rank, if it is there.
ReadTable read_mpi_benchmarks;
/// CSV whose first lines may be "# key: value"; a column of sizes and one of times are enough.
ReadTable read_csv;
/// nccl-tests' -J and rccl-tests' -Z json, of one collective or, without one, of whatever they
/// hold.
MeasuredTable read_nccl_json(std::string_view text, const std::string& file,
                             std::optional<CollectiveKind> kind);
MeasuredTable read_rccl_json(std::string_view text, const std::string& file,
                             std::optional<CollectiveKind> kind);
/// Google Benchmark's JSON.
ReadTable read_google_benchmark;

}  // namespace collbench
