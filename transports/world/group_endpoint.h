// A rank of a group as an endpoint: ranks count within the group, and the others are not there.
#pragma once

#include <memory>
#include <vector>

#include "transports/endpoint.h"

namespace collbench {

/// `members` lists the ranks of `endpoint` that are the group; its own is one of them.
std::unique_ptr<Endpoint> make_group_endpoint(std::shared_ptr<Endpoint> endpoint,
                                              std::vector<Rank> members);

}  // namespace collbench
