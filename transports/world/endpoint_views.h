// Views of an endpoint: one lent to several communicators in turn, and a rank of a group, for which
// only the group is there.
//
// A communicator owns its endpoint. Where making one is a start-up of many machines, a run makes
// one, and every communicator gets its own view of it, with scratch memory of its own.
#pragma once

#include <memory>
#include <vector>

#include "transports/endpoint.h"

namespace collbench {

/// A view of `endpoint`. Thread safety: all views of one endpoint belong to one thread, and no call
/// through one view may begin before the transfers of another are waited for.
std::unique_ptr<Endpoint> lend(std::shared_ptr<Endpoint> endpoint);

/// Ranks count within the group. `members` lists the ranks of `endpoint` that are the group; its
/// own is one of them.
std::unique_ptr<Endpoint> make_group_endpoint(std::shared_ptr<Endpoint> endpoint,
                                              std::vector<Rank> members);

}  // namespace collbench
