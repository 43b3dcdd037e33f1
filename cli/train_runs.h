// What `collbench train` can do, one function for each, and the options that only some of it has.
#pragma once

#include <span>

#include "cli/settings.h"

namespace collbench {

// All return the exit code and throw InvalidArgument naming the option that is wrong. Replicas are
// threads, unless --backend names one whose ranks are processes: then this is one of them if a
// launcher or --hosts says so, else it starts the others.

int train_mirrored(const Settings& settings);
/// The slice of a TPU pod: a torus of the workers, where their number makes one.
int train_tpu(const Settings& settings);
/// One device holds the variables: gradients are summed there, and nowhere else.
int train_central(const Settings& settings);
/// `multi-worker-mirrored`: joins the others (or starts them, with --isolate), compares plans,
/// trains, and reports on rank 0. Throws TransportError on every worker if one is lost or
/// disagrees.
int train_workers(const Settings& settings);
/// `parameter-server`: with TF_CONFIG this process is the task that it names (chief, worker, ps or
/// evaluator); with --isolate it is the chief and starts the others; else all are threads. Throws
/// TransportError if a server or the chief is missing or lost.
int train_servers(const Settings& settings);
/// The evaluator of either: evaluates the held-out samples with each latest checkpoint of
/// --checkpoint (it may skip some), until the one that ends training. Prints a row for each, and
/// writes --tensorboard. `replicas` share a step there. Throws TransportError if no new checkpoint
/// comes within --timeout.
int evaluate_checkpoints(const Settings& settings, int replicas);

/// Real training on a simulated network: --model with --topo.
int train_on_network(const Settings& settings);
std::span<const OptionRow> network_option_rows();

/// Whether the settings ask for a workload, for the list of them, or for a table of a model.
bool asks_for_workload(const Settings& settings);
/// Plays or lists what the settings ask for.
int train_workload(const Settings& settings);
std::span<const OptionRow> workload_option_rows();
/// --workload without a network to simulate: computing is waited for, all-reduces are real.
int train_replay(const Settings& settings);
/// --profile: writes such a workload from a model of ours.
int write_profile(const Settings& settings);

}  // namespace collbench
