// One endpoint used by several communicators in turn.
//
// A communicator owns its endpoint. Where making one is a start-up of many machines, a run makes
// one, and every communicator gets its own view of it, with scratch memory of its own.
#pragma once

#include <memory>

#include "transports/endpoint.h"

namespace collbench {

/// A view of `endpoint`. Thread safety: all views of one endpoint belong to one thread, and no call
/// through one view may begin before the transfers of another are waited for.
std::unique_ptr<Endpoint> lend(std::shared_ptr<Endpoint> endpoint);

}  // namespace collbench
