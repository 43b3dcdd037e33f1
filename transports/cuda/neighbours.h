// Ranks of one machine, a process each, that export GPU memory to each other (CUDA IPC).
//
// At each collective a rank sends the others the position of its buffers: the allocation, with the
// driver's handle if it is new (cuIpcGetMemHandle), and the offset in it. Peers open an allocation
// once and from then on access it like their own. The exchange is an all-gather over shared memory
// of the host, so losing a rank ends the waits of the others.
//
// Two rules of the driver are kept here: a process must not open its own handles, and memory that
// another process has open must not be freed. So exported memory is kept until all ranks have
// closed it, or, if a rank was lost before, until the process ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/units.h"
#include "transports/communicator.h"
#include "transports/cuda/cuda_call.h"
#include "transports/cuda/driver.h"

namespace collbench {

/// Shared memory of the host that `ranks` ranks need, each of which may stage `stage` bytes in it.
Bytes cuda_neighbours_footprint(int ranks, Bytes stage);
/// Lays it out in zeroed memory, at the start of a page, once before any rank uses it. A rank that
/// does not arrive at a collective within `timeout` is lost.
void lay_out_cuda_neighbours(std::byte* arena, int ranks, Seconds timeout);
/// Ends all waits, on hosts and GPUs, now and later. Does nothing to memory not laid out.
void abort_cuda_neighbours(std::byte* arena, std::string_view why);

struct CudaNeighbourhood {
  std::byte* arena = nullptr;
  Bytes stage;  // as the footprint was asked for
  Rank rank = 0;
  int ranks = 1;
  int device = 0;
};

/// Every member marked Collective is called by all ranks, in the same order. Throws TransportError,
/// naming the rank, if one is lost, and with the driver's message if a call to it fails.
/// Thread safety: one thread at a time.
class CudaNeighbours {
 public:
  /// Does not join the other ranks yet.
  explicit CudaNeighbours(const CudaNeighbourhood& where);
  /// Leaves, if leave() has not been called.
  ~CudaNeighbours();
  CudaNeighbours(const CudaNeighbours&) = delete;
  CudaNeighbours& operator=(const CudaNeighbours&) = delete;

  Rank rank() const { return where_.rank; }
  int ranks() const { return where_.ranks; }

  /// Takes over an allocation of this rank's GPU, of which parts may be exported from now on.
  void adopt(std::shared_ptr<std::byte> memory, Bytes size);
  /// Collective: the address in this process of what each rank exports, by rank; null if this
  /// rank's GPU cannot access it. Requires that `mine` lies in adopted memory.
  std::vector<std::byte*> show(const std::byte* mine);
  /// Collective, after a show() in which all ranks passed an address: records which ranks reach
  /// which.
  void note_reach(const std::vector<std::byte*>& shown);
  /// Whether both GPUs can access each other's memory, as note_reach() found.
  bool reaches(Rank a, Rank b) const;

  /// The regions of all ranks, as this process has them.
  struct Met {
    std::vector<std::byte*> in;   // by rank; null where not reached
    std::vector<std::byte*> out;  // the same
  };
  /// Collective: returns when all ranks have arrived. A buffer that is not there is null. Throws
  /// TransportError on all of them if their calls differ, InvalidArgument for regions that are not
  /// in adopted memory.
  Met meet(const CudaCall& call, const std::byte* in, const std::byte* out);

  /// Collective: the concatenation of every rank's numbers, of equal length.
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine);

  /// Host memory of all ranks, by rank: `stage` bytes each.
  std::byte* stage(Rank rank) const;
  /// A page of host memory that all ranks share. Its first word, once not 0, ends all waits of GPUs
  /// that poll it.
  std::byte* late_page() const { return where_.arena; }
  /// The reason given to abort_cuda_neighbours(); empty if it was not called.
  std::string why_aborted() const;

  /// Collective: closes opened memory, and frees adopted memory once all ranks have done so. If the
  /// others cannot be waited for, adopted memory is never freed.
  void leave() noexcept;

 private:
  struct Block {
    std::shared_ptr<std::byte> memory;
    Bytes size;
    bool told = false;
  };
  struct Place {
    std::int64_t block = -1;  // -1: none
    std::int64_t offset = 0;
  };

  Place place_of(const std::byte* address) const;
  void tell(const std::vector<Place>& mine, const std::vector<std::int64_t>& places);
  std::byte* address(Rank rank, Place place);

  CudaNeighbourhood where_;
  const CudaDriver& driver_;
  std::unique_ptr<Communicator> host_;
  std::vector<Block> blocks_;
  // Of each rank, by the number of its block.
  std::vector<std::map<std::int64_t, std::byte*>> opened_;
  std::vector<bool> reach_;  // by rank and rank
  bool gone_ = false;
};

}  // namespace collbench
