#include "bench/measure/case_endpoint.h"

#include <utility>

#include "transports/faults/checked_endpoint.h"
#include "transports/faults/faulty_endpoint.h"

namespace collbench {

std::unique_ptr<Endpoint> case_endpoint(std::unique_ptr<Endpoint> endpoint, const Case& which) {
  if (!which.inject.empty()) {
    endpoint = make_faulty_endpoint(std::move(endpoint), parse_injected_faults(which.inject),
                                    which.checksum ? checked_messages : 1);
  }
  return which.checksum ? make_checked_endpoint(std::move(endpoint)) : std::move(endpoint);
}

std::string case_endpoint_text(const Case& which) {
  std::string text = which.checksum ? " with checksums" : "";
  if (!which.inject.empty()) text += ", " + which.inject + " injected";
  return text;
}

}  // namespace collbench
