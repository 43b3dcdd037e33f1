// How a group of elements is read from all sources, folded and stored to all destinations.
//
// One thread's part of a reduction, for a GPU and, compiled for the CPU, for tests: constexpr
// functions that nvcc takes for the device (--expt-relaxed-constexpr). `Arrays` gives the
// addresses: source(s) for s below sources(), destination(d) for d below destinations(), the
// divisor of the sum, and aligned(), whether all begin at a multiple of 16 bytes. All loads of a
// group precede its stores, so a destination may be a source.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transports/kernels/elements.h"

namespace collbench {

constexpr int device_group_bytes = 16;  // the widest load of one thread

/// Elements that one instruction loads or stores.
template <class Stored, int lanes>
struct [[gnu::may_alias]] alignas(lanes * sizeof(Stored)) DeviceGroup {
  Stored at[lanes];
};

/// Folds `batch` groups: the first at element `first`, each further one `stride` elements on.
template <class Element, class Op, int lanes, int batch, class Arrays>
constexpr void fold_groups(const Arrays& arrays, std::int64_t first, std::int64_t stride) {
  using Stored = typename Element::Stored;
  using Group = DeviceGroup<Stored, lanes>;
  const std::int64_t offset = first * static_cast<std::int64_t>(sizeof(Stored));
  const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(Stored));
  typename Element::Folded folded[batch][lanes];
  for (int b = 0; b < batch; ++b) {
    const Group start = *reinterpret_cast<const Group*>(arrays.source(0) + offset + b * step);
    for (int i = 0; i < lanes; ++i) folded[b][i] = Element::widen(start.at[i]);
  }
  for (int s = 1; s < arrays.sources(); ++s) {
    const std::byte* const source = arrays.source(s) + offset;
    for (int b = 0; b < batch; ++b) {
      const Group next = *reinterpret_cast<const Group*>(source + b * step);
      for (int i = 0; i < lanes; ++i) {
        folded[b][i] = Op::template apply<Element>(folded[b][i], Element::widen(next.at[i]));
      }
    }
  }
  const bool divided = arrays.divisor() != 1;
  const typename Element::Divisor divisor = Element::divisor(arrays.divisor());
  for (int b = 0; b < batch; ++b) {
    Group result;
    for (int i = 0; i < lanes; ++i) {
      result.at[i] =
          Element::narrow(divided ? Element::divide(folded[b][i], divisor) : folded[b][i]);
    }
    for (int d = 0; d < arrays.destinations(); ++d) {
      *reinterpret_cast<Group*>(arrays.destination(d) + offset + b * step) = result;
    }
  }
}

/// The same for one source whose bits are copied.
template <class Stored, int lanes, int batch, class Arrays>
constexpr void copy_groups(const Arrays& arrays, std::int64_t first, std::int64_t stride) {
  using Group = DeviceGroup<Stored, lanes>;
  const std::int64_t offset = first * static_cast<std::int64_t>(sizeof(Stored));
  const std::int64_t step = stride * static_cast<std::int64_t>(sizeof(Stored));
  Group groups[batch];
  for (int b = 0; b < batch; ++b) {
    groups[b] = *reinterpret_cast<const Group*>(arrays.source(0) + offset + b * step);
  }
  for (int d = 0; d < arrays.destinations(); ++d) {
    for (int b = 0; b < batch; ++b) {
      *reinterpret_cast<Group*>(arrays.destination(d) + offset + b * step) = groups[b];
    }
  }
}

/// The groups from `first` on, `batch` of them a `stride` of elements apart.
template <class Element, class Op, int lanes, int batch, class Arrays>
constexpr void play_groups(const Arrays& arrays, std::int64_t first, std::int64_t stride) {
  if (arrays.sources() == 1 && arrays.divisor() == 1) {
    copy_groups<typename Element::Stored, lanes, batch>(arrays, first, stride);
  } else {
    fold_groups<Element, Op, lanes, batch>(arrays, first, stride);
  }
}

/// This thread's groups of elements [first, last): the same for whatever range they are in.
template <class Element, class Op, class Arrays>
constexpr void play_range(const Arrays& arrays, std::int64_t first, std::int64_t last, int thread,
                          int threads) {
  constexpr int lanes = device_group_bytes / sizeof(typename Element::Stored);
  // As many groups in flight as registers hold folded.
  constexpr int batch = sizeof(typename Element::Stored) >= 4   ? 4
                        : sizeof(typename Element::Stored) == 2 ? 2
                                                                : 1;
  const std::int64_t begin = first / lanes;
  const std::int64_t end = (last + lanes - 1) / lanes;
  const std::int64_t stride = std::int64_t{threads} * lanes;
  const bool aligned = arrays.aligned();
  std::int64_t group = begin + (thread - begin % threads + threads) % threads;
  while (group < end) {
    const std::int64_t at = group * lanes;
    if (aligned && at >= first && at + (batch - 1) * stride + lanes <= last) {
      play_groups<Element, Op, lanes, batch>(arrays, at, stride);
      group += std::int64_t{batch} * threads;
      continue;
    }
    if (aligned && at >= first && at + lanes <= last) {
      play_groups<Element, Op, lanes, 1>(arrays, at, stride);
    } else {
      for (std::int64_t i = at; i < at + lanes; ++i) {
        if (i >= first && i < last) play_groups<Element, Op, 1, 1>(arrays, i, 1);
      }
    }
    group += threads;
  }
}

}  // namespace collbench
