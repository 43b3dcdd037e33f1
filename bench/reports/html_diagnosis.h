// Diagnoses on the page: a section that needs no script.
#pragma once

#include <iosfwd>
#include <vector>

#include "heuristics/diagnosis/diagnosis.h"

namespace collbench {

/// One <section id="diagnosis">: of each table the verdict, a drawing of measured over expected
/// times with the interval, the causes, the thresholds of vendors and the table of sizes. Nothing
/// without diagnoses.
void write_diagnosis_section(std::ostream& out, const std::vector<Diagnosis>& diagnoses);

}  // namespace collbench
