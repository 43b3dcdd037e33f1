// How this process learns its rank, the number of ranks and the other ranks' addresses: one table
// of all sources.
//
//   --rank --hosts --workers --meet              options; --hosts names every address
//   TF_CONFIG                                    TensorFlow, Kubeflow's TFJob; names every address
//   RANK WORLD_SIZE MASTER_ADDR MASTER_PORT      torchrun, Kubeflow's PyTorchJob
//   OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE    Open MPI's mpirun, Kubeflow's MPIJob
//   PMI_RANK PMI_SIZE                            MPICH, Intel MPI, srun --mpi=pmi2
//   SLURM_PROCID SLURM_STEP_NUM_TASKS            Slurm's srun; in a batch script there is no step
//   JOB_COMPLETION_INDEX                         Kubernetes, indexed Job; the number of workers is
//                                                WORLD_SIZE or --workers, the pods' names follow
//                                                from this one's and a headless service
//   PMIX_RANK                                    PMIx; the number as above, if no other has it
//
// All sources that are set must agree, except that any launcher may start torchrun once for each
// node, and that mpirun starts its daemons with srun. A launcher of one worker is ignored. Where
// only rank 0's address is known, the ranks meet there (transports/world/bootstrap.h): at --meet,
// else at MASTER_ADDR, else on this machine if all ranks are here, else at the first node of
// Slurm's list. The port is MASTER_PORT + 1 (torchrun itself holds MASTER_PORT), or one derived
// from the number of the job.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace collbench {

/// The value of an environment variable, or null: std::getenv, or a test's own.
using Environ = std::function<const char*(const char*)>;

/// The inputs from which this process's rank is determined.
struct LaunchFacts {
  Environ environment;
  std::function<std::string()> host_name;  // with its domain; used for Kubernetes only
  std::string launcher = "auto";           // of launcher_names(): the only one to use
  std::optional<int> rank;                 // --rank
  std::vector<std::string> hosts;          // --hosts
  int workers = 0;                         // --workers; 0: not given
  std::string bootstrap;                   // --meet
  /// Whether the job has parameter servers, which only TF_CONFIG can name; nothing: as TF_CONFIG
  /// says.
  std::optional<bool> with_servers;
};

struct LaunchedWorker {
  std::string source;  // "--hosts", "TF_CONFIG", "torchrun", "Open MPI", ...
  int rank = 0;
  int ranks = 1;
  std::vector<std::string> hosts;  // HOST:PORT of every rank; empty: the ranks meet to learn them
  std::string bootstrap;           // HOST:PORT at which rank 0 awaits the others
  bool one_machine = false;        // the launcher says that all ranks are here
  bool evaluator = false;          // of TF_CONFIG: outside the cluster of so many ranks
  int servers = 0;                 // the last ranks; then rank 0 is their chief, and no worker

  int workers() const { return servers > 0 ? ranks - 1 - servers : ranks; }
};

/// What --launcher takes: auto, none, and the names of the table.
std::vector<std::string> launcher_names();

/// Nothing if this process is the only worker. Throws InvalidArgument for what is incomplete, no
/// number, or contradicts another source; the message names both.
std::optional<LaunchedWorker> launched_worker(const LaunchFacts& facts);

/// Source, rank and number of ranks (0 if unknown) as the launchers among `facts` say them, without
/// addresses; nothing if this is the only process. For commands whose ranks do not meet. Throws as
/// launched_worker().
std::optional<LaunchedWorker> launched_rank(const LaunchFacts& facts);

/// This machine's name with its domain, as other machines may know it.
std::string full_host_name();

}  // namespace collbench
