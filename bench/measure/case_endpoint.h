// The endpoint of a case: the back end's own, with the checksums and the faults that it asks for.
#pragma once

#include <memory>
#include <string>

#include "bench/records/case.h"
#include "transports/endpoint.h"

namespace collbench {

/// Faults happen below the checksums, so that these can find them. Throws InvalidArgument for
/// faults that cannot be read.
std::unique_ptr<Endpoint> case_endpoint(std::unique_ptr<Endpoint> endpoint, const Case& which);

/// " with checksums, corrupt:rank=1 injected": what the above adds to a description.
std::string case_endpoint_text(const Case& which);

}  // namespace collbench
