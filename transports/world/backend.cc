#include "transports/world/backend.h"

#include "core/error.h"
#include "core/suggest.h"

namespace collbench {

std::span<const Backend> backends() {
  static const std::vector<Backend> rows = {shm_backend(), grpc_backend(), gloo_backend(),
                                            mpi_backend(), nccl_backend(), cuda_backend()};
  return rows;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) names.push_back(backend.name);
  return names;
}

const Backend& usual_backend() { return backends().front(); }

const Backend& find_backend(const std::string& name) {
  for (const Backend& backend : backends()) {
    if (backend.name == name) return backend;
  }
  throw InvalidArgument("unknown back end '" + name + "'." + did_you_mean(name, backend_names()) +
                        " 'collbench doctor' lists them.");
}

const Backend* black_box(const std::string& algorithm) {
  const std::string base = algorithm.substr(0, algorithm.find(':'));
  for (const Backend& backend : backends()) {
    if (backend.is_black_box && backend.name == base) return &backend;
  }
  return nullptr;
}

std::string why_unavailable(const Backend& backend) {
  if (!backend.unavailable.empty() || backend.find_unavailable == nullptr) {
    return backend.unavailable;
  }
  return backend.find_unavailable();
}

void require_usable(const Backend& backend) {
  if (const std::string why = why_unavailable(backend); !why.empty()) {
    throw Unavailable("back end '" + backend.name + "' is not usable: " + why);
  }
}

void require_possible(const WorldSpec& spec) {
  const Backend& backend = find_backend(spec.backend);
  require(spec.ranks >= 1, "there must be at least 1 worker, not " + std::to_string(spec.ranks));
  require(!spec.isolate || backend.isolates, "only workers of shm and cuda can be isolated; '" +
                                                 spec.backend + "' decides that itself");
  require(!spec.private_buffers || (spec.isolate && backend.private_buffers),
          "private buffers need isolated workers of shm: threads share all memory");
  require(!spec.isolate || spec.transport != "graph" || backend.transport_option != "executor",
          "--executor graph plays workers of one process, and --isolate gives each its own; use "
          "--executor persistent");
  require(backend.plays_schedules || (!spec.checksum && spec.inject.empty()),
          "checksums and injected faults are for messages of our own, of shm and grpc; '" +
              spec.backend + "' hides its own");
}

Communicator& communicator_for(const Backend& backend, const WorldSpec& spec,
                               RankContext& context) {
  const std::string key = (backend.is_black_box ? spec.algorithm : name_of(spec)) + " " +
                          spec.transport + (spec.checksum ? " checked " : " ") + spec.inject;
  if (!context.communicator || !backend.keeps_communicator || context.communicator_key != key) {
    context.communicator.reset();
    context.remarks.clear();
    context.communicator = backend.make_communicator(spec, context);
    context.communicator_key = key;
  }
  return *context.communicator;
}

}  // namespace collbench
