// Gradients on the wire in half precision: rounded to nearest even before the sum, widened after.
//
// The sum itself is in the wire's type, as the all-reduce kernels fold it (in f32, rounded once for
// each fold). All ranks widen equal bits, so replicas stay equal. Overflow becomes infinity, which
// training then shows as a loss that is no number; f16 ends at 65,504.
#pragma once

#include "transports/endpoint.h"

namespace collbench {

/// Both regions hold the same count; `from` is f32 or f64, `to` f16 or bf16, or the other way
/// round.
void narrow(Region from, Region to);
void widen(Region from, Region to);

}  // namespace collbench
