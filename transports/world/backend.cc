#include "transports/world/backend.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/suggest.h"
#include "transports/cuda/devices.h"

namespace collbench {

namespace {

std::vector<Backend> all_rows() {
  std::vector<Backend> rows;
  const auto add = [&](Backend row, void (*complete)(Backend&)) {
    complete(row);
    rows.push_back(std::move(row));
  };
  add({.name = "shm",
       .summary = "our schedules over shared memory, by threads or (isolated) processes",
       .choice = ChoiceKind::shared_memory,
       .ranks_in_words = "threads of one process",
       .isolated_ranks_in_words = "processes over shared memory",
       .isolates = true,
       .plays_schedules = true,
       .uneven_shares = true,
       .private_buffers = true},
      complete_shm);
  add({.name = "grpc",
       .summary = "our schedules over gRPC, one process per worker",
       .absence = "this build has no gRPC (Debian: libgrpc++-dev, protobuf-compiler-grpc)",
       .choice = ChoiceKind::messages,
       .ranks = RankKind::processes,
       .ranks_in_words = "one process per worker",
       .plays_schedules = true,
       .uneven_shares = true,
       .keeps_communicator = true,
       .transport_option = "transport",
       .transports = {"raw", "tcp", "tf-recvbuf"},
       .spans_machines = true},
      complete_grpc);
  add({.name = "gloo",
       .summary = "Gloo's own algorithms over TCP, by threads",
       .absence = "this build has no Gloo (Debian: libgloo-dev)",
       .choice = ChoiceKind::own,
       .has_library = true,
       .uneven_shares = true},
      complete_gloo);
  add({.name = "mpi",
       .summary = "our schedules over MPI's messages, and its own, one process per worker",
       .absence = "this build has no MPI (Debian: libopenmpi-dev, openmpi-bin)",
       .choice = ChoiceKind::messages,
       .has_library = true,
       .ranks = RankKind::launched,
       .ranks_in_words = "one process per worker",
       .plays_schedules = true,
       .uneven_shares = true,
       .keeps_communicator = true},
      complete_mpi);
  add({.name = "nccl",
       .summary = "NCCL's own algorithms on GPUs, found at run time",
       .choice = ChoiceKind::own,
       .has_library = true,
       .keeps_communicator = true,
       .world_per_algorithm = true,
       .on_gpus = true,
       .spans_machines = true},
      complete_nccl);
  add({.name = "cuda",
       .summary = "our schedules on GPUs, by threads or (isolated) processes, also several on one",
       .absence = no_cuda_support,
       .choice = ChoiceKind::gpu_memory,
       .isolates = true,
       .on_gpus = true,
       .takes_devices = true,
       .transport_option = "executor"},
      complete_cuda);
  return rows;
}

// "shm and cuda".
std::string names_with(bool Backend::*capability) {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) {
    if (backend.*capability) names.push_back(backend.name);
  }
  std::string last = names.empty() ? "none" : names.back();
  if (names.size() < 2) return last;
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace

std::span<const Backend> backends() {
  static const std::vector<Backend> rows = all_rows();
  return rows;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const Backend& backend : backends()) names.push_back(backend.name);
  return names;
}

const Backend& usual_backend() { return backends().front(); }

const Backend* backend_named(std::string_view name) {
  const auto found = std::find_if(backends().begin(), backends().end(),
                                  [&](const Backend& backend) { return backend.name == name; });
  return found == backends().end() ? nullptr : &*found;
}

const Backend& find_backend(const std::string& name) {
  if (const Backend* const backend = backend_named(name)) return *backend;
  throw InvalidArgument("unknown back end '" + name + "'." + did_you_mean(name, backend_names()) +
                        " 'collbench doctor' lists them.");
}

bool joins_others(const Backend& backend) {
  return backend.spans_machines || backend.isolates || backend.ranks == RankKind::launched;
}

const Backend& remote_backend() {
  return *std::find_if(backends().begin(), backends().end(), [](const Backend& backend) {
    return backend.spans_machines && backend.plays_schedules;
  });
}

RankKind rank_kind(const Backend& backend, const WorldSpec& spec) {
  const bool processes =
      spec.isolate || (backend.needs_processes != nullptr && backend.needs_processes(spec));
  return backend.ranks == RankKind::threads && processes ? RankKind::processes : backend.ranks;
}

const Backend* black_box(const std::string& algorithm) {
  const Backend* const backend = backend_named(algorithm.substr(0, algorithm.find(':')));
  return backend != nullptr && backend->has_library ? backend : nullptr;
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
  require(!spec.isolate || backend.isolates, "only workers of " + names_with(&Backend::isolates) +
                                                 " can be isolated; '" + spec.backend +
                                                 "' decides that itself");
  require(!spec.private_buffers || (spec.isolate && backend.private_buffers),
          "private buffers need isolated workers of " + names_with(&Backend::private_buffers) +
              ": threads share all memory");
  require(!spec.isolate || spec.transport != "graph" || backend.transport_option != "executor",
          "--executor graph plays workers of one process, and --isolate gives each its own; use "
          "--executor persistent");
  const bool plays = backend.plays_schedules && black_box(spec.algorithm) == nullptr;
  require(plays || spec.groups.empty(), "groups are played by schedules of our own, of " +
                                            names_with(&Backend::plays_schedules) + "; '" +
                                            spec.algorithm + "' of '" + spec.backend + "' is none");
  require(backend.uneven_shares || spec.collective.counts.empty(),
          "counts of unequal shares are for " + names_with(&Backend::uneven_shares) + ", not '" +
              spec.backend + "'");
  if (black_box(spec.algorithm) == &backend && backend.require_algorithm != nullptr) {
    backend.require_algorithm(spec);
  }
  require(plays || (!spec.checksum && spec.inject.empty()),
          "checksums and injected faults are for messages of our own, of " +
              names_with(&Backend::plays_schedules) + "; '" + spec.backend + "' hides its own");
}

Communicator& communicator_for(const Backend& backend, const WorldSpec& spec,
                               RankContext& context) {
  const bool is_library = black_box(spec.algorithm) != nullptr;
  const std::string key = (is_library ? spec.algorithm : name_of(spec)) + " " + spec.groups + " " +
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
