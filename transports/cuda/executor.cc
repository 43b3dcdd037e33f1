#include "core/error.h"
#include "core/suggest.h"
#include "transports/cuda/cuda_world.h"

namespace collbench {

std::string_view to_string(CudaExecutor executor) {
  switch (executor) {
    case CudaExecutor::automatic:
      return "auto";
    case CudaExecutor::graph:
      return "graph";
    case CudaExecutor::persistent:
      return "persistent";
  }
  return "";
}

CudaExecutor parse_cuda_executor(std::string_view name) {
  if (name.empty()) return CudaExecutor::automatic;
  for (const CudaExecutor executor :
       {CudaExecutor::automatic, CudaExecutor::graph, CudaExecutor::persistent}) {
    if (to_string(executor) == name) return executor;
  }
  throw InvalidArgument("unknown executor '" + std::string(name) + "' of back end cuda." +
                        did_you_mean(name, {"auto", "graph", "persistent"}) +
                        " Possible are auto, graph and persistent.");
}

}  // namespace collbench
