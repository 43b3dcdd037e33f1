// The machine and the binary at the time of a record, without which its figures cannot be compared.
//
// The keys are those of Environment in bench/records/record.h, except command and seed, which the
// caller adds.
#pragma once

#include <string>

#include "bench/records/record.h"

namespace collbench {

/// Reads /proc, /sys and what the build baked in. What cannot be read is "unknown"; never throws.
Environment collect_environment();

/// Adds what explains figures of GPUs: gpu_environment() of transports/nccl/gpu_survey.h, the
/// versions of driver, CUDA and NCCL, and the variables that NCCL reads. Starts the driver.
void add_gpus(Environment& environment);

/// "2026-11-22T05:06:07Z": now, in UTC.
std::string now_utc();

}  // namespace collbench
