#include "transports/nccl/group.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "transports/cuda/driver.h"

namespace collbench {

NcclGroup::NcclGroup(int ranks, const std::string& spec, Seconds timeout)
    : aborted_(std::make_shared<std::atomic<bool>>(false)) {
  options_.settings = parse_nccl_settings(spec);
  const int devices = CudaDriver::instance().devices();
  if (ranks > devices) {
    throw Unavailable(
        fmt::format("NCCL takes one rank on each GPU: {} ranks and {} here; schedules of "
                    "collbench (ring, "
                    "direct) also run several on one",
                    ranks, counted(devices, "GPU")));
  }
  tell_nccl(options_.settings.environment());
  options_.ranks = ranks;
  options_.timeout = timeout;
  options_.unique_id = make_nccl_id();
  options_.cancelled = [aborted = aborted_] { return aborted->load(); };
}

std::unique_ptr<Communicator> NcclGroup::join(Rank rank) const {
  NcclOptions mine = options_;
  mine.rank = mine.device = rank;
  return make_nccl_communicator(mine);
}

void NcclGroup::abort() { *aborted_ = true; }

}  // namespace collbench
