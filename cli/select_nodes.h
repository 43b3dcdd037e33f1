// Sizes, workers, nodes, devices and machines that `collbench select` asks about.
#pragma once

#include <string>
#include <vector>

#include "cli/settings.h"
#include "heuristics/calibration/calibration.h"
#include "heuristics/policies/policy.h"
#include "topologies/machine.h"

namespace collbench {

/// By --workers. Without it as many as --counts has numbers, or every host of the machine, as
/// `simulate` has it; of a machine that comes in any size the option's default, as of a file that
/// was fitted (`fitted` is not null) and stands alone: it says how large a node is, not how many.
std::vector<int> workers_asked(const Settings& settings, const Calibration* fitted);

/// By --cores; auto: those of this host, if --backend says that it is meant, else 0.
int cores_asked(const Settings& settings);

/// Takes the shares of --counts, if there are any, and the size of the vector that they make.
void set_counts(const Settings& settings, Question& question);

/// Where tables and exports begin: with an element or more, as less would take no time.
Bytes smallest_of_table(const Settings& settings, DataType type);
/// Throws InvalidArgument for vectors of less than an element.
void require_element(const Question& question);

/// Sets nodes and shape by --nodes: a number, a shape (4x4x8), or auto, which asks `fitted`, then
/// the machine of the question. `fitted` may be null. Throws InvalidArgument for more than the
/// nodes of a cluster seat, and for several nodes of a machine that is one.
void set_nodes(const Settings& settings, const Calibration* fitted, Question& question);

/// How the workers of a question are seated where they do not fill the nodes of its cluster.
void note_seats(const Question& question, std::vector<std::string>& notes);

/// A fitted file describes one node where several ranks share one: then as many as are asked for.
Machine machine_asked(const std::string& name, const Calibration* fitted, const Question& question);

/// By --devices; auto tells GPUs by the links of the machine, which may be null.
Devices devices_of(const Settings& settings, const Machine* machine);

}  // namespace collbench
