// Which sizes and scales were measured, and how far a question lies from them.
#pragma once

#include <map>
#include <set>
#include <string>

#include "heuristics/measurement.h"

namespace collbench {

class MeasuredRange {
 public:
  void add(const MeasuredTime& time);

  /// In words what of the question lies beyond all that was added: "64 nodes, measured with 2 to
  /// 4"; "1 MiB, measured there from 1 KiB to 4 KiB" where other extents have more sizes; "2x2x16
  /// nodes, measured as 4x4x4"; empty within. Requires at least one measured time.
  std::string beyond(const Scale& scale, Bytes bytes) const;
  /// Doublings from the nearest Scale::extent(), 0 if it was measured. Requires as above.
  double doublings_to(int extent) const;
  /// Doublings beyond the largest extent (or size, or number of ranks of a node) that was measured,
  /// or below the smallest; 0 in between. Requires as above.
  double doublings_outside(int extent) const;
  double doublings_outside(Bytes bytes) const;
  double rank_doublings_outside(const Scale& scale) const;
  const std::set<int>& extents() const { return extents_; }

 private:
  std::set<int> extents_;
  std::set<int> each_;  // ranks of a node, where it is nodes that grow
  std::set<Bytes> sizes_;
  std::map<int, std::set<Bytes>> sizes_at_;    // by extent
  std::map<int, std::set<GridShape>> shapes_;  // by extent, where they are stated
};

}  // namespace collbench
