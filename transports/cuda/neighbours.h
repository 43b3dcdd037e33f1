// The ranks of one machine, a process each, that show each other memory of their GPUs.
//
// A rank that meets the others tells them where its buffers are: the allocation, by the driver's
// handle when it is new (cuIpcGetMemHandle), and the place in it. They open it once and from then
// on read and write it like their own. What is told goes through shared memory of the host, by a
// schedule of ours like everything else, so a rank that is lost ends the others' waiting.
//
// Two rules of the driver are kept here: a process does not open its own handles, and memory that
// another process has open must not be freed. So what a rank has shown stays until all have closed
// it; where a rank is lost before, until the process ends.
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
#include "transports/cuda/driver.h"
#include "transports/cuda/wish.h"

namespace collbench {

/// Shared memory of the host that `ranks` ranks need, each of which may stage `stage` bytes in it.
Bytes cuda_neighbours_footprint(int ranks, Bytes stage);
/// Lays it out in zeroed memory, at the start of a page, once before any rank uses it. A rank that
/// does not come to the others within `timeout` is lost.
void lay_out_cuda_neighbours(std::byte* arena, int ranks, Seconds timeout);
/// Ends all waiting, on hosts and GPUs, now and later. Does nothing to memory not laid out.
void abort_cuda_neighbours(std::byte* arena, std::string_view why);

struct CudaNeighbourhood {
  std::byte* arena = nullptr;
  Bytes stage;  // as the footprint was asked for
  Rank rank = 0;
  int ranks = 1;
  int device = 0;
};

/// Every member that says Collective is called by all ranks, in the same order. Throws
/// TransportError, naming the rank, if one is lost, and with the driver's words if it fails.
/// Thread safety: one thread at a time.
class CudaNeighbours {
 public:
  /// Joins nobody yet.
  explicit CudaNeighbours(const CudaNeighbourhood& where);
  /// Leaves, if leave() has not been called.
  ~CudaNeighbours();
  CudaNeighbours(const CudaNeighbours&) = delete;
  CudaNeighbours& operator=(const CudaNeighbours&) = delete;

  Rank rank() const { return where_.rank; }
  int ranks() const { return where_.ranks; }

  /// Keeps an allocation of this rank's GPU, of which parts may be shown from now on.
  void adopt(std::shared_ptr<std::byte> memory, Bytes size);
  /// Collective: where this process has what each rank shows, by rank; null for what this rank's
  /// GPU does not reach. Requires that `mine` lies in adopted memory.
  std::vector<std::byte*> show(const std::byte* mine);
  /// Collective, after a show() that all gave an address to: notes who reaches whom.
  void note_reach(const std::vector<std::byte*>& shown);
  /// Whether both GPUs reach each other's memory; what note_reach() found.
  bool reaches(Rank a, Rank b) const;

  /// The regions of all ranks, as this process has them.
  struct Met {
    std::vector<std::byte*> in;   // by rank; null where not reached
    std::vector<std::byte*> out;  // the same
  };
  /// Collective: returns when all have come. Throws TransportError on all of them if their wishes
  /// differ, InvalidArgument for regions that are not in adopted memory.
  Met meet(const CudaWish& wish, const std::byte* in, const std::byte* out);

  /// Collective: every rank's numbers one after the other, of one length.
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine);

  /// Host memory of all ranks, by rank: `stage` bytes each.
  std::byte* stage(Rank rank) const;
  /// A page of host memory that all ranks share. Its first word, once not 0, ends all waiting of
  /// GPUs that look at it.
  std::byte* late_page() const { return where_.arena; }
  /// Why waiting was ended by abort_cuda_neighbours(); empty if it was not.
  std::string why_aborted() const;

  /// Collective: closes what was opened, and lets go what was adopted once all have done so. Where
  /// the others cannot be waited for, adopted memory is never freed.
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
