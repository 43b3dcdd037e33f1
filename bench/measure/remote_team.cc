#include "bench/measure/remote_team.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/measure/agreement.h"
#include "bench/measure/load_watch.h"
#include "bench/measure/user_buffers.h"
#include "bench/measure/worker_case.h"
#include "bench/records/environment.h"
#include "core/available_memory.h"
#include "core/error.h"
#include "transports/waiting.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

// Where a process runs, in one word: equal words mean one machine. Without /proc every process is
// taken for a machine of its own.
std::string machine() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id.empty() ? fmt::format("unknown-{}-{}", gethostid(), getpid()) : id;
}

// Processes that have the same word see each other under their numbers ("pid"), or reach each other
// without a network ("net").
std::string name_space(const std::string& kind) {
  std::error_code failed;
  const auto link = std::filesystem::read_symlink("/proc/self/ns/" + kind, failed);
  return failed ? "unknown" : link.string();
}

/// The different values of a property of cases, in their order: "f32" or "1 KiB, 4 KiB".
template <typename Property>
std::string values_of(std::span<const Case> cases, Property property) {
  constexpr std::size_t most_told = 8;
  std::vector<std::string> values;
  for (const Case& which : cases) {
    const std::string value(property(which));
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (values.size() <= most_told) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{} to {} ({} of them)", values.front(), values.back(), values.size());
}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::vector<NamedValue> plan_values(std::span<const Case> cases, const Sampling& sampling,
                                    int cycles, const Environment& environment) {
  return {
      {"version", environment.at("version")},
      {"algorithms", values_of(cases, [](const Case& c) { return c.algorithm; })},
      {"sizes", values_of(cases, [](const Case& c) { return to_string(c.bytes); })},
      {"data type", values_of(cases, [](const Case& c) { return to_string(c.type); })},
      {"operator", values_of(cases, [](const Case& c) { return to_string(c.op); })},
      {"in place", values_of(cases, [](const Case& c) { return yes_no(c.in_place); })},
      {"buffers", values_of(cases, [](const Case& c) { return to_string(c.buffers); })},
      {"transport", values_of(cases, [](const Case& c) { return c.transport; })},
      {"checksum", values_of(cases, [](const Case& c) { return yes_no(c.checksum); })},
      {"injected faults", values_of(cases, [](const Case& c) { return c.inject; })},
      {"iterations", std::to_string(sampling.iterations)},
      {"warm-up", std::to_string(sampling.warmup)},
      {"target interval", std::to_string(sampling.target_interval)},
      {"time per case", to_string(sampling.max_time)},
      {"trial of auto", to_string(sampling.trial)},
      {"check", yes_no(sampling.check)},
      {"seed", std::to_string(sampling.seed)},
      {"cycles", std::to_string(cycles)},
      {"number of cases", std::to_string(cases.size())},
  };
}

}  // namespace

/// What ranks tell each other of where they run.
struct RemoteTeam::Place {
  std::string machine;
  std::string process_world;
  std::string network;
  pid_t process = 0;
  int cores = 1;

  std::string text() const {
    return fmt::format("{} {} {} {} {}", machine, process_world, network, process, cores);
  }
  static Place read(const std::string& text) {
    Place place;
    std::istringstream(text) >> place.machine >> place.process_world >> place.network >>
        place.process >> place.cores;
    return place;
  }
};

RemoteTeam::RemoteTeam(const RemoteJob& job) : backend_(find_backend(job.backend)), job_(job) {
  if (const std::string why = why_unavailable(backend_); !why.empty()) {
    throw Unavailable("back end '" + backend_.name + "' is not usable: " + why);
  }
  require(backend_.join_remote != nullptr,
          "the workers of '" + backend_.name + "' cannot be started by hand; those of grpc can");
  require(job.rank >= 0 && job.rank < job.ranks(),
          fmt::format("there is no rank {} among {} hosts", job.rank, job.ranks()));
  const int cores = usable_cores();  // a pinned thread cannot ask
  context_.rank = job.rank;
  context_.ranks = job.ranks();
  context_.timeout = job.timeout;
  context_.job = job.token;
  job_.on_hosts = [this](const std::vector<std::string>& hosts) { job_.hosts = hosts; };
  context_.endpoint = backend_.join_remote(job_);
  rendezvous_ = std::make_unique<EndpointRendezvous>(context_.endpoint);
  context_.rendezvous = rendezvous_.get();
  const int place = learn_places(cores);
  if (job.pin) pin_to_core(place, job.cpus);
}

RemoteTeam::~RemoteTeam() = default;

// The place of this rank among those on its machine: each gets a core of its own, also where hosts
// are containers or network namespaces that share one machine.
int RemoteTeam::learn_places(int cores) {
  const Place mine{machine(), name_space("pid"), name_space("net"), getpid(), cores};
  std::map<std::string, int> cores_of_machines;
  std::set<std::pair<std::string, std::string>> nodes;
  ranks_here_ = 0;
  int place_here = 0;
  const std::vector<std::string> texts = gather_text(mine.text(), *rendezvous_);
  for (Rank rank = 0; rank < job_.ranks(); ++rank) {
    const Place place = Place::read(texts[static_cast<std::size_t>(rank)]);
    int& most = cores_of_machines[place.machine];
    most = std::max(most, place.cores);
    nodes.emplace(place.machine, place.network);
    if (place.machine != mine.machine) continue;
    ++ranks_here_;
    if (rank < job_.rank) ++place_here;
    if (rank != job_.rank && place.process_world == mine.process_world) {
      neighbours_.push_back(place.process);
    }
  }
  processors_ = 0;
  for (const auto& [name, count] : cores_of_machines) processors_ += count;
  nodes_ = static_cast<int>(nodes.size());
  first_here_ = place_here == 0;
  rendezvous_->set_one_clock(cores_of_machines.size() == 1);
  return place_here;
}

void RemoteTeam::compare_plans(std::span<const Case> cases, const Sampling& sampling, int cycles) {
  require_same(plan_values(cases, sampling, cycles, collect_environment()), *rendezvous_);
}

std::string RemoteTeam::agree_to_stop(const std::string& mine) {
  if (broken_) return mine;
  broken_ = true;
  const std::vector<std::string> wishes = gather_text(mine, *rendezvous_);
  broken_ = false;
  for (Rank rank = 0; rank < job_.ranks(); ++rank) {
    const std::string& wish = wishes[static_cast<std::size_t>(rank)];
    if (wish.empty()) continue;
    return rank == job_.rank ? wish : fmt::format("{} at rank {}", wish, rank);
  }
  return "";
}

Measurement RemoteTeam::measure(const Case& which, const Sampling& sampling) {
  if (broken_) throw TransportError("the team cannot go on after its first failure");
  broken_ = true;
  Measurement measured = measure_watched(which, sampling);
  broken_ = false;
  return measured;
}

// Who is not ready says so before anybody waits for its part of an all-reduce.
void RemoteTeam::require_ready(const std::string& refusal) {
  const std::vector<std::string> refusals = gather_text(refusal, *rendezvous_);
  for (std::size_t rank = 0; rank < refusals.size(); ++rank) {
    if (refusals[rank].empty()) continue;
    throw TransportError(fmt::format("rank {} cannot take part: {}", rank, refusals[rank]));
  }
}

Measurement RemoteTeam::measure_watched(const Case& which, const Sampling& sampling) {
  std::optional<UserBuffers> buffers;
  std::string refusal;
  try {
    Case here = which;  // as large as the ranks of this machine are
    here.workers = ranks_here_;
    require_memory(here, available_memory());
    buffers = prepare_case(backend_, which, context_);
  } catch (const std::exception& error) {
    refusal = error.what();
  }
  require_ready(refusal);
  const LoadWatch watch(neighbours_, ranks_here_);
  Measurement measured = measure_prepared(backend_, which, sampling, context_, *buffers);
  std::string mine;
  // Without a sight of its neighbours it would take them for foreign load.
  const bool sees_all = std::ssize(neighbours_) + 1 == ranks_here_;
  if (first_here_ && sees_all) mine = fmt::format("{}", fmt::join(watch.warnings(), "\n"));
  for (const std::string& texts : gather_text(mine, *rendezvous_)) {
    std::istringstream lines(texts);
    for (std::string line; std::getline(lines, line);) measured.warnings.push_back(line);
  }
  return measured;
}

}  // namespace collbench
