// Rules for MPICH's all-reduces, as the tables by which it chooses algorithms.
//
// MPICH takes whole tables only (JSON, for all collectives), one for its algorithms over messages
// and one for those in the memory of one host. So ours are the library's own with the all-reduces
// replaced; the library holds them as text. Read of MPICH 4.0.2: src/mpi/coll/src/csel.c, and
// mpi/src/mpid/ch4/shm/posix for what happens where the second table has no answer: the first one
// is asked.
#pragma once

#include <string>
#include <string_view>

#include "heuristics/policies/selection_table.h"

namespace collbench {

struct MpichTables {
  std::string messages;  // MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE
  std::string memory;    // MPIR_CVAR_POSIX_COLL_SELECTION_TUNING_JSON_FILE
};

/// The library's own, out of the file that it was loaded from. Throws Unavailable if it holds none.
MpichTables own_mpich_tables();
/// The same text in any bytes. Throws as own_mpich_tables(), naming `file`.
MpichTables mpich_tables_in(std::string_view bytes, const std::string& file);

/// `own` with the rules of the table for all-reduces among processes of one communicator; "mpi" as
/// algorithm leaves sizes to the library. A scale's rules hold for communicators of as many ranks
/// and more, up to the next scale, those of the first also below. Throws InvalidArgument for an
/// algorithm that is none of MPICH's.
MpichTables with_rules(const MpichTables& own, const SelectionTable& rules);

}  // namespace collbench
