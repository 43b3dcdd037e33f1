// Reduction kernels: N source arrays folded into one value per element, stored to M destinations.
//
// One pass over memory whatever N and M are, so that a reduction costs what its bytes cost.
// Compiled once per instruction set (baseline x86-64 or any other CPU, AVX2+F16C, AVX-512) and
// chosen at run time; every variant gives the same bits. No fast-math, no contraction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/data_type.h"
#include "transports/endpoint.h"

namespace collbench {

/// How results reach memory: `cached` through the caches; `streaming` past them (non-temporal), for
/// destinations larger than the caches that no cache holds yet.
enum class Stores : std::uint8_t { cached, streaming };

/// For i in [0, count): v = ((source[0][i] op source[1][i]) op ...) / divisor; destination[j][i] =
/// v. A left fold in the order of `sources`. f16 and bf16 are folded in f32 and rounded once, to
/// nearest even. min and max propagate NaN and take -0 as smaller than +0. A NaN result is the
/// canonical quiet NaN, whatever the payloads; one source with divisor 1 is a copy of bits.
/// Integers wrap; a divisor truncates toward zero; floating types multiply by 1/divisor (f64 in
/// f64, the others in f32). avg folds as sum. A destination may equal a source, but must not
/// overlap one otherwise. No alignment is needed. Requires at least one source, one destination and
/// a divisor of at least 1. Thread safety: free function, no state.
void reduce(DataType type, Reduction reduction, std::span<const std::byte* const> sources,
            std::span<std::byte* const> destinations, std::int64_t count,
            Stores stores = Stores::cached);

/// reduce() of one source in place: what is added up is divided.
void divide(Region sums, Reduction reduction);

/// Copies `bytes`; streaming stores when asked.
void copy(std::byte* destination, const std::byte* source, std::int64_t bytes,
          Stores stores = Stores::cached);

/// Name of the instruction set in use: "baseline", "avx2" or "avx512". COLLBENCH_ISA in the
/// environment may name a smaller one, for tests and ablations.
std::string_view kernel_isa();
/// The instruction sets usable here, smallest first, and a switch for tests and benchmarks.
/// set_kernel_isa throws Unavailable if this CPU lacks it. Not thread-safe against reduce().
std::vector<std::string_view> usable_kernel_isas();
void set_kernel_isa(std::string_view isa);

}  // namespace collbench
