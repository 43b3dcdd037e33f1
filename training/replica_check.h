// Whether replicas still are replicas: fingerprints of their parameters, compared over all ranks.
#pragma once

#include <cstdint>
#include <span>

#include "training/engines/engine.h"
#include "transports/communicator.h"

namespace collbench {

/// Compares the parameters of all ranks bit by bit, through their fingerprints: one all-reduce of
/// 16 bytes if they agree. Otherwise throws WrongResult on every rank, naming the first tensor that
/// differs, in flat order, the rank whose value is in the minority (of equal parties, the one
/// without rank 0), and `step`.
void require_equal_replicas(const Network& network, std::span<const Tensor> tensors,
                            Communicator& communicator, std::int64_t step);

/// The same for parameters that are given up after use, by a digest of what was gathered; names the
/// rank alone.
void require_equal_digests(std::uint64_t digest, Communicator& communicator, std::int64_t step);

}  // namespace collbench
