// Which worker of how many this process is, where a launcher says so in the environment.
//
//   TF_CONFIG                                    TensorFlow's JSON; names every address
//   RANK WORLD_SIZE MASTER_ADDR MASTER_PORT      torchrun, and PyTorch's convention at large
//   OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE    Open MPI's mpirun
//   SLURM_PROCID SLURM_STEP_NUM_TASKS            Slurm's srun; in a batch script there is no step
//
// The last three name no addresses: the workers meet at rank 0 (transports of bench/meeting.h) and
// tell each other. Rank 0 is at MASTER_ADDR, else at the first node of SLURM_STEP_NODELIST, else on
// this machine if all ranks are; its port is MASTER_PORT + 1 (torchrun itself holds MASTER_PORT),
// or one derived from the number of the job. Two launchers that disagree are an error, save srun
// that starts torchrun once for each node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace collbench {

/// The value of an environment variable, or null: std::getenv, or a test's own.
using Environ = std::function<const char*(const char*)>;

struct LaunchedWorker {
  std::string source;  // "torchrun", "Open MPI", "Slurm"
  int rank = 0;
  int ranks = 1;
  std::string meeting;  // HOST:PORT at which rank 0 awaits the others
};

/// Nothing if no launcher started this process. Throws InvalidArgument for variables that are
/// incomplete, no numbers, or contradict those of another launcher.
std::optional<LaunchedWorker> launched_worker(const Environ& environment);

/// The first of Slurm's "node[03-07,11],other": "node03". Throws InvalidArgument.
std::string first_node(const std::string& list);

}  // namespace collbench
