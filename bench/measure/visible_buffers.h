// What the sampler does with user buffers, wherever they are: it fills them with inputs and looks
// at results. Where the processor cannot touch them, through a mirror in its own memory.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/measure/check.h"
#include "bench/measure/user_buffers.h"

namespace collbench {

/// Thread safety: belongs to its rank's thread.
class VisibleBuffers {
 public:
  /// Both must outlive it.
  VisibleBuffers(const UserBuffers& buffers, const CheckInputs& inputs)
      : copies_(buffers.copies()), inputs_(inputs) {}

  void fill(Region region, InputKind kind);
  std::int64_t count_wrong_results(Region region);
  std::int64_t count_changed_inputs(Region region);
  std::uint64_t hash(Region region);
  /// Reads every byte, as the consumer of a result does; nothing where only a device reads.
  void consume(Region region);

 private:
  Region mirror(Region region);
  /// The region itself, or a copy of it that can be read.
  Region readable(Region region);

  MemoryCopies copies_;
  const CheckInputs& inputs_;
  std::vector<std::byte> mirror_;
};

}  // namespace collbench
