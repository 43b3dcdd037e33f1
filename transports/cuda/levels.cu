#include <algorithm>
#include <cstdint>

#include <cuda_runtime.h>

#include "transports/cuda/cuda_error.h"
#include "transports/cuda/device_fold.h"
#include "transports/cuda/levels.h"

namespace collbench {
namespace {

constexpr int threads_per_block = 256;

// Words of the pieces: first and count; first operand and sources; destinations and divisor. Then
// the addresses of all operands.
struct LevelArguments {
  std::int64_t tile;  // bytes of each array that a block plays
  std::int64_t aligned;
  std::uint64_t words[most_level_words];
};
static_assert(sizeof(LevelArguments) <= 4096);

constexpr std::uint64_t pair(int low, int high) {
  return static_cast<std::uint32_t>(low) | std::uint64_t{static_cast<std::uint32_t>(high)} << 32;
}
constexpr int low_of(std::uint64_t word) { return static_cast<int>(word & 0xffffffffU); }
constexpr int high_of(std::uint64_t word) { return static_cast<int>(word >> 32); }

// A piece's arrays, as play_range() wants them.
class LevelArrays {
 public:
  __device__ LevelArrays(const LevelArguments& arguments, int piece)
      : arguments_(arguments),
        piece_(arguments.words + 4 * piece),
        operands_(arguments.words + low_of(piece_[2])) {}
  __device__ std::int64_t first() const { return static_cast<std::int64_t>(piece_[0]); }
  __device__ std::int64_t count() const { return static_cast<std::int64_t>(piece_[1]); }
  __device__ int sources() const { return high_of(piece_[2]); }
  __device__ int destinations() const { return low_of(piece_[3]); }
  __device__ int divisor() const { return high_of(piece_[3]); }
  __device__ bool aligned() const { return arguments_.aligned != 0; }
  __device__ const std::byte* source(int s) const {
    return reinterpret_cast<const std::byte*>(operands_[s]);
  }
  __device__ std::byte* destination(int d) const {
    return reinterpret_cast<std::byte*>(operands_[sources() + d]);
  }

 private:
  const LevelArguments& arguments_;
  const std::uint64_t* piece_;
  const std::uint64_t* operands_;
};

// A row of the grid for each piece, a column for each tile of the largest; blocks without work end
// at once.
template <class Element, class Op>
__global__ void __launch_bounds__(threads_per_block)
    play_level(const __grid_constant__ LevelArguments arguments) {
#if __CUDA_ARCH__ >= 900
  // This kernel may have been started before the one that it follows has ended: until that has, and
  // then the next one may be.
  cudaGridDependencySynchronize();
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  constexpr std::int64_t lanes = device_group_bytes / sizeof(typename Element::Stored);
  const LevelArrays arrays(arguments, static_cast<int>(blockIdx.y));
  const std::int64_t tile = arguments.tile / sizeof(typename Element::Stored);
  const std::int64_t first = arrays.first();
  const std::int64_t last = first + arrays.count();
  const std::int64_t begin = first - first % lanes + blockIdx.x * tile;
  if (begin >= last) return;
  const std::int64_t from = begin > first ? begin : first;
  const std::int64_t to = begin + tile < last ? begin + tile : last;
  play_range<Element, Op>(arrays, from, to, static_cast<int>(threadIdx.x), threads_per_block);
}

// What fills the device and keeps its loads in flight: a thread has a group of 16 bytes of each
// array, or several where there are few arrays and more than enough groups.
std::int64_t tile_of(const DeviceCommands& commands, const DeviceLevel& level) {
  constexpr std::int64_t group_row = std::int64_t{threads_per_block} * device_group_bytes;
  constexpr std::int64_t plenty = 4096;  // blocks: thirty for each multiprocessor of the largest
  std::int64_t bytes = 0;
  int sources = 1;
  for (const DevicePiece& piece : level.pieces) {
    bytes += piece.count * size_of(commands.type);
    sources = std::max(sources, commands.commands[static_cast<std::size_t>(piece.command)].sources);
  }
  return sources <= 4 && bytes >= 4 * plenty * group_row ? 4 * group_row : group_row;
}

LevelArguments arguments_of(const DeviceCommands& commands, const DeviceLevel& level,
                            const DeviceBases& bases) {
  LevelArguments arguments{};
  arguments.tile = tile_of(commands, level);
  std::uint64_t bits = 0;
  std::size_t piece_word = 0;
  std::size_t operand_word = 4 * level.pieces.size();
  const auto take = [&](const DeviceOperand& operand) {
    const auto address = reinterpret_cast<std::uintptr_t>(
        bases[static_cast<std::size_t>(operand.rank * device_places) +
              static_cast<std::size_t>(operand.place)]);
    bits |= address;
    arguments.words[operand_word++] = address;
  };
  for (const DevicePiece& piece : level.pieces) {
    const DeviceCommand& command = commands.commands[static_cast<std::size_t>(piece.command)];
    arguments.words[piece_word++] = static_cast<std::uint64_t>(piece.first);
    arguments.words[piece_word++] = static_cast<std::uint64_t>(piece.count);
    arguments.words[piece_word++] = pair(static_cast<int>(operand_word), command.sources);
    arguments.words[piece_word++] = pair(command.destinations, command.divisor);
    for (const DeviceOperand& source : commands.sources(command)) take(source);
    for (const DeviceOperand& destination : commands.destinations(command)) take(destination);
  }
  arguments.aligned = bits % device_group_bytes == 0 ? 1 : 0;
  return arguments;
}

dim3 grid_of(const LevelArguments& arguments, const DeviceCommands& commands,
             const DeviceLevel& level) {
  std::int64_t most = 1;
  for (const DevicePiece& piece : level.pieces) {
    const std::int64_t before = piece.first * size_of(commands.type) % device_group_bytes;
    const std::int64_t bytes = before + piece.count * size_of(commands.type);
    most = std::max(most, (bytes + arguments.tile - 1) / arguments.tile);
  }
  return dim3(static_cast<unsigned>(most), static_cast<unsigned>(level.pieces.size()));
}

// Whether `kernel` may be started while the one that it follows still runs. That depends on what it
// was compiled for, not on the device: PTX of an older architecture, which the driver translates
// for a newer one, has no synchronisation (play_level()).
bool starts_early(const void* kernel) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
  return CUDART_VERSION >= 12030 && attributes.ptxVersion >= 90;
}

void follow(CUgraph_st* graph, CUgraphNode_st* before, CUgraphNode_st* node) {
#if CUDART_VERSION >= 12030
  cudaGraphEdgeData early{};
  early.from_port = cudaGraphKernelNodePortProgrammatic;
  early.type = cudaGraphDependencyTypeProgrammatic;
#if CUDART_VERSION >= 13000
  check_cuda(cudaGraphAddDependencies(graph, &before, &node, &early, 1),
             "cudaGraphAddDependencies");
#else
  check_cuda(cudaGraphAddDependencies_v2(graph, &before, &node, &early, 1),
             "cudaGraphAddDependencies");
#endif
#else
  check_cuda(cudaGraphAddDependencies(graph, &before, &node, 1), "cudaGraphAddDependencies");
#endif
}

}  // namespace

CUgraphNode_st* add_cuda_level(CUgraph_st* graph, std::span<CUgraphNode_st* const> before,
                               bool same_device, const DeviceCommands& commands,
                               const DeviceLevel& level, const DeviceBases& bases) {
  LevelArguments arguments = arguments_of(commands, level, bases);
  void* parameters[] = {&arguments};
  cudaKernelNodeParams kernel{};
  visit_element(commands.type, commands.op, [&]<class Element, class Op>() {
    kernel.func = reinterpret_cast<void*>(play_level<Element, Op>);
  });
  kernel.gridDim = grid_of(arguments, commands, level);
  kernel.blockDim = dim3(threads_per_block);
  kernel.kernelParams = parameters;
  cudaGraphNode_t node = nullptr;
  const bool early = before.size() == 1 && same_device && starts_early(kernel.func);
  check_cuda(
      cudaGraphAddKernelNode(&node, graph, before.data(), early ? 0 : before.size(), &kernel),
      "cudaGraphAddKernelNode");
  if (early) follow(graph, before[0], node);
  return node;
}

}  // namespace collbench
