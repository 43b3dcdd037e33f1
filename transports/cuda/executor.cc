#include <array>

#include "core/suggest.h"
#include "transports/cuda/cuda_world.h"

namespace collbench {
namespace {

constexpr std::array<std::string_view, 3> executors{"auto", "graph", "persistent"};

}  // namespace

std::string_view to_string(CudaExecutor executor) {
  return executors[static_cast<std::size_t>(executor)];
}

CudaExecutor parse_cuda_executor(std::string_view name) {
  if (name.empty()) return CudaExecutor::automatic;
  return static_cast<CudaExecutor>(index_of("executor of back end cuda", name, executors));
}

}  // namespace collbench
