// The columns that tables for people are made of: what each is called and what it shows.
//
// There is one list of them. A table takes those that its user named or, by default, the figures
// and whatever varies over the run; what does not vary belongs in a heading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/records/record.h"
#include "bench/reports/text.h"

namespace collbench {

/// A record with its figures, computed once for all cells.
struct Row {
  const Record& record;
  Figures figures;
};

enum class ColumnKind : std::uint8_t {
  property,   // of the case
  varying,    // the same; shown by default where cases differ in it
  simulated,  // the same of how a case is simulated: "-" for a real one
  figure,     // "-" in a row without figures, one that was skipped
};

/// Shows words, aligned left, or a number, aligned right.
struct Column {
  std::string_view name;  // as --columns and --sort take it
  std::string heading;
  std::string unit;  // "(GB/s)", or ""
  std::size_t width = 0;
  ColumnKind kind = ColumnKind::property;
  std::string (*words)(const Case&) = nullptr;  // of a property
  double (*value)(const Row&) = nullptr;        // to sort by; null: by the text
  std::string (*text)(const Row&) = nullptr;    // null: the words or the value's four digits
  bool left() const { return value == nullptr; }
};

/// The names of all columns, in the order in which help texts list them.
std::vector<std::string> column_names();

/// The columns called `names` in that order or, if there are none, those that show what varies over
/// `cases` and then the usual figures. `unicode`: "(µs)" instead of "(us)". Requires known names.
std::vector<Column> table_columns(const std::vector<std::string>& names,
                                  const std::vector<Case>& cases, bool unicode);

/// Leaves out columns, first those that follow from others, until a line has at most `most`
/// characters or none is left that may go.
void fit_columns(std::vector<Column>& columns, std::size_t most);

/// What a row shows in a column.
std::string cell_text(const Column& column, const Row& row);

/// Sorts by the first of `keys`, rows that it does not tell apart by the next; "-busbw" begins with
/// the largest. Records without figures come last. Requires names of columns.
void sort_records(std::vector<Record>& records, const std::vector<std::string>& keys);

/// The back end of a case, with what changes its nature: "shm-processes".
std::string backend_text(const Case& point);

}  // namespace collbench
