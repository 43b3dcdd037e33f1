// Diagnoses (heuristics/diagnosis/diagnosis.h) for people and programs.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "heuristics/diagnosis/diagnosis.h"

namespace collbench {

/// A line of the verdict, the table of sizes, the causes with what to check, and the thresholds of
/// vendors.
void write_diagnoses(std::ostream& out, const std::vector<Diagnosis>& diagnoses);
/// The same for a ticket.
void write_diagnoses_markdown(std::ostream& out, const std::vector<Diagnosis>& diagnoses);
/// One object {"verdict", "causes", "tables"}: that of all, and the names of all causes, most
/// likely first. docs/diagnosis.md has the keys.
void write_diagnoses_json(std::ostream& out, const std::vector<Diagnosis>& diagnoses);
/// A row for each size.
void write_diagnoses_csv(std::ostream& out, const std::vector<Diagnosis>& diagnoses);

/// "unhealthy" if any table is, else "undecided" if any is, else "healthy".
const char* verdict_of_all(const std::vector<Diagnosis>& diagnoses);

/// "TABLE: METHOD, 16 ranks on 2 nodes, on MACHINE".
std::string diagnosis_heading(const Diagnosis& diagnosis);

/// "12.1 us .. 15.3 us".
std::string interval_of(const JudgedSize& size);

/// "unhealthy (96 %): nvls_off, NVLS is off: ..." or "cannot be told: ..." in one line.
std::string diagnosis_line(const Diagnosis& diagnosis);

/// "busbw 364 GB/s, median of the three largest sizes; expected 470 GB/s".
std::string diagnosis_figures(const Diagnosis& diagnosis);

/// "reached", "missed", or why the threshold does not count for this table.
std::string floor_text(const VendorFloor& floor, const Diagnosis& diagnosis);

/// Whether other commands should tell of it: what is not called healthy.
bool needs_hint(const Diagnosis& diagnosis);
/// "TABLE, 16 ranks on 2 nodes: unhealthy (82 %): nvls_off, ...; collbench diagnose TABLE says
/// more".
std::string diagnosis_hint(const Diagnosis& diagnosis);

}  // namespace collbench
