// The cases of a measured table: what is asked of it, on which machine, and what may be wrong.
#pragma once

#include <string>
#include <vector>

#include "heuristics/diagnosis/diagnosis.h"
#include "heuristics/measurement.h"

namespace collbench {

/// One case for each library, algorithm, scale and run in the table; both places are one. `machine`
/// is as for --topo, or a file of `calibrate`; empty: the one that the table's devices are known
/// of. What cannot be diagnosed is left out, and `notes` say why. Throws InvalidArgument, with what
/// to give, if nothing is left, and WrongResult if that is because no result is right.
std::vector<DiagnosisCase> diagnosis_cases(const MeasuredTable& table, const std::string& machine,
                                           std::vector<std::string>& notes);

/// Judges the case by what the same system took when it was well: expected times, and what every
/// suspicion foretells, are multiplied by measured / expected of `healthy` at each size, between
/// its sizes in proportion. Throws InvalidArgument if it has fewer than three of the case's sizes
/// for that library and scale.
void judge_by_healthy(DiagnosisCase& given, const MeasuredTable& healthy);

/// diagnose(), and where the machine was not named and the case is at fault on the usual one, also
/// on the others with such GPUs: if it is healthy on one of them, the verdict is not told.
Diagnosis diagnose_on_any(const DiagnosisCase& given);

/// Diagnoses of the cases of NCCL and RCCL on `machine`, or, if it is empty, where the table says
/// its hardware. None where that cannot be: for commands that do something else with the table.
std::vector<Diagnosis> diagnoses_where_known(const MeasuredTable& table,
                                             const std::string& machine = "");

}  // namespace collbench
