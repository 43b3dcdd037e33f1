// Communicators of ranks that are processes of one machine, each with a GPU or a share of one: our
// schedules run by the persistent kernel, over memory that the processes export to each other.
//
// Every rank launches the kernel of its own row. The kernels synchronise by flags in device memory,
// of which each process has a copy that the others write, so the host is not involved while they
// run. Where a GPU cannot access another's memory, the data goes through host memory.
#pragma once

#include <memory>
#include <string>

#include "transports/communicator.h"
#include "transports/cuda/cuda_world.h"
#include "transports/cuda/neighbours.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {

/// The room that each rank needs for staging vectors of up to `largest`.
Bytes cuda_process_stage(int ranks, Bytes largest);

struct CudaProcessOptions {
  CudaNeighbourhood where;  // with the stage of cuda_process_stage()
  CudaExecutor executor = CudaExecutor::automatic;
  Seconds timeout{60};  // for one collective
};

/// Collective. `name` is that of the schedule, for descriptions. Throws InvalidArgument for the
/// executor that plays graphs: a graph cannot wait for another process. Regions are memory that
/// allocate() has given, zeroed and of this rank's GPU; it is kept until all ranks have ended
/// theirs, or the process. allocate() throws as allocate_on_cuda().
std::unique_ptr<Communicator> make_cuda_process_communicator(const CudaProcessOptions& options,
                                                             PlayedSchedules played,
                                                             const std::string& name);

}  // namespace collbench
