// The variables by which launchers number the processes that they start.
#pragma once

namespace collbench {

struct LauncherVariables {
  const char* index;  // of this process, from 0
  const char* count;  // of all of them; null: it does not say
};

constexpr LauncherVariables torchrun_variables{"RANK", "WORLD_SIZE"};
constexpr LauncherVariables open_mpi_variables{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"};
constexpr LauncherVariables pmi_variables{"PMI_RANK", "PMI_SIZE"};
constexpr LauncherVariables pmix_variables{"PMIX_RANK", nullptr};
/// Of a step. Slurm sets SLURM_PROCID and SLURM_NTASKS in batch scripts as well, which are no part
/// of anything; SLURM_STEP_NUM_TASKS is there only in what srun starts.
constexpr LauncherVariables slurm_variables{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
constexpr LauncherVariables kubernetes_variables{"JOB_COMPLETION_INDEX", nullptr};

}  // namespace collbench
