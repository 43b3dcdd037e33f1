// The reader of Open MPI's dynamic rules on any bytes: it refuses, or gives rules without gaps that
// read back as they were, but for the numbers of ranks that no machine has.
#include "tests/fuzz/fuzz_target.h"
#include "tests/heuristics/ompi_rules_reader.h"

#include "core/error.h"
#include "heuristics/exports/export_rules.h"

FUZZ_TARGET(ompi_rules, input) {
  using namespace collbench;
  SelectionTable table;
  try {
    table = read_ompi_rules(input, "fuzzed");
  } catch (const InvalidArgument&) {
    return;
  }
  const SelectionTable again = read_ompi_rules(find_rule_format("ompi").write(table), "again");
  if (again.scales.size() != table.scales.size()) std::abort();
  for (std::size_t i = 0; i < table.scales.size(); ++i) {
    check_rules(table.scales[i]);
    if (again.scales[i].rules != table.scales[i].rules) std::abort();
  }
}
