#include "transports/world/joined_world.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/input_file.h"
#include "transports/play/schedule_communicator.h"
#include "transports/waiting.h"
#include "transports/world/agreement.h"
#include "transports/world/core_order.h"
#include "transports/world/endpoint_views.h"
#include "transports/world/joined_memory.h"

namespace collbench {
namespace {

// A rendezvous of ranks that share no memory: its barrier and gather are all-reduces over the
// endpoint that carries the measured ones.
//
// So it needs no second connection, and what ends the one ends the other: a lost rank is named by
// the endpoint, whatever the others wait in.
class EndpointRendezvous final : public Rendezvous {
 public:
  /// Meets over a view of `endpoint`, which all ranks have joined. They have no clock in common
  /// until it is known that all run on one machine.
  EndpointRendezvous(std::shared_ptr<Endpoint> endpoint, const bool& one_machine)
      : communicator_(make_schedule_communicator(
            make_schedule("recursive-doubling", endpoint->ranks()), lend(endpoint), "rendezvous")),
        one_machine_(one_machine) {}

  Rank rank() const override { return communicator_->rank(); }
  int ranks() const override { return communicator_->ranks(); }
  void barrier() override { communicator_->barrier(); }
  // Every rank fills its part of a vector of zeros; the sum of all is the gathered vector.
  std::vector<std::int64_t> gather(std::span<const std::int64_t> mine) override {
    std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(ranks()));
    std::copy(mine.begin(), mine.end(),
              all.begin() + rank() * static_cast<std::ptrdiff_t>(mine.size()));
    const Region region{reinterpret_cast<std::byte*>(all.data()), std::ssize(all), DataType::i64};
    communicator_->all_reduce(region, region, ReduceOp::sum);
    return all;
  }
  void note_progress() override {}  // the endpoint asks late ranks whether they live
  bool one_clock() const override { return one_machine_; }

 private:
  std::unique_ptr<Communicator> communicator_;
  const bool& one_machine_;
};

// Where a process runs, in one word: equal words mean one machine. Without /proc every process is
// taken for a machine of its own.
std::string machine() {
  const std::string id = first_line("/proc/sys/kernel/random/boot_id");
  return id.empty() ? fmt::format("unknown-{}-{}", gethostid(), getpid()) : id;
}

// Processes that have the same word see each other under their numbers ("pid"), or reach each other
// without a network ("net").
std::string name_space(const std::string& kind) {
  std::error_code failed;
  const auto link = std::filesystem::read_symlink("/proc/self/ns/" + kind, failed);
  return failed ? "unknown" : link.string();
}

/// Where a rank runs, as ranks exchange it.
struct RankSite {
  std::string machine;
  std::string process_world;
  std::string network;
  pid_t process = 0;
  int cores = 1;

  std::string text() const {
    return fmt::format("{} {} {} {} {}", machine, process_world, network, process, cores);
  }
  static RankSite read(const std::string& text) {
    RankSite site;
    std::istringstream(text) >> site.machine >> site.process_world >> site.network >>
        site.process >> site.cores;
    return site;
  }
};

}  // namespace

JoinedWorld::JoinedWorld(const JoinSpec& job)
    : backend_(find_backend(job.backend)), job_(job), last_(&backend_) {
  require_usable(backend_);
  require(backend_.join_remote != nullptr,
          "the workers of '" + backend_.name + "' cannot be started by hand; those of grpc can");
  require(job.rank >= 0 && job.rank < job.ranks(),
          fmt::format("there is no rank {} among {} hosts", job.rank, job.ranks()));
  take_short_turns();
  const int cores = usable_cores();  // a pinned thread cannot ask
  context_.rank = job.rank;
  context_.ranks = job.ranks();
  context_.timeout = job.timeout;
  context_.job = job.token;
  job_.on_hosts = [this](const std::vector<std::string>& hosts) { job_.hosts = hosts; };
  context_.endpoint = backend_.join_remote(job_);
  rendezvous_ = std::make_unique<EndpointRendezvous>(context_.endpoint, one_machine_);
  context_.rendezvous = rendezvous_.get();
  const int place = learn_places(cores);
  if (job.pin) pin_to_core(place, job.cpus);
}

JoinedWorld::~JoinedWorld() = default;

// The place of this rank among those on its machine: each gets a core of its own, also where hosts
// are containers or network namespaces that share one machine.
int JoinedWorld::learn_places(int cores) {
  const RankSite mine{machine(), name_space("pid"), name_space("net"), getpid(), cores};
  std::map<std::string, int> cores_of_machines;
  std::set<std::pair<std::string, std::string>> nodes;
  ranks_here_ = 0;
  int place_here = 0;
  const std::vector<std::string> texts = gather_text(mine.text(), *rendezvous_);
  for (Rank rank = 0; rank < job_.ranks(); ++rank) {
    const RankSite place = RankSite::read(texts[static_cast<std::size_t>(rank)]);
    if (rank == 0) processors_of_rank_0_ = place.cores;
    int& most = cores_of_machines[place.machine];
    most = std::max(most, place.cores);
    nodes.emplace(place.machine, place.network);
    processes_.push_back(place.process);
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
  one_machine_ = cores_of_machines.size() == 1;
  return place_here;
}

std::string JoinedWorld::from_rank_0(std::string text) {
  auto length = static_cast<std::int64_t>(text.size());
  length = rendezvous_->gather(std::span(&length, 1))[0];
  text.resize(static_cast<std::size_t>(length));
  const auto communicator =
      make_schedule_communicator(make_schedule("ring", ranks()), lend(context_.endpoint), "a text");
  communicator->broadcast({reinterpret_cast<std::byte*>(text.data()), length, DataType::u8}, 0);
  return text;
}

std::string JoinedWorld::agree_to_stop(const std::string& mine) {
  if (!broken_.empty()) return mine;
  std::vector<std::string> wishes;
  breaking_if_failed([&] { wishes = gather_text(mine, *rendezvous_); });
  for (Rank rank = 0; rank < job_.ranks(); ++rank) {
    const std::string& wish = wishes[static_cast<std::size_t>(rank)];
    if (wish.empty()) continue;
    return rank == job_.rank ? wish : fmt::format("{} at rank {}", wish, rank);
  }
  return "";
}

std::unique_ptr<JoinedMemory> JoinedWorld::share_memory(const Backend& backend,
                                                        const WorldSpec& spec) {
  const bool see_each_other = one_machine_ && std::ssize(neighbours_) + 1 == ranks();
  require(see_each_other || !backend.isolates,
          fmt::format("workers of '{}' share memory, but these run on {}; use {}", backend.name,
                      one_machine_ ? "one machine in containers of their own"
                                   : fmt::format("{} machines", nodes_),
                      backend_.name));
  if (!see_each_other) return nullptr;
  std::unique_ptr<JoinedMemory> memory;
  const auto join = [&](const std::string& paths) {
    memory =
        std::make_unique<JoinedMemory>(backend, spec, rank(), context_.timeout, processes_, paths);
  };
  together(*rendezvous_, [&] {
    if (rank() == 0) join("");
  });
  const std::string paths = from_rank_0(memory ? memory->paths() : "");
  together(*rendezvous_, [&] {
    if (rank() != 0) join(paths);
  });
  return memory;
}

// What lies in the memory ends before it.
void JoinedWorld::leave(const JoinedMemory* memory) {
  context_.kept.reset();
  context_.rendezvous = rendezvous_.get();
  if (memory != nullptr && context_.arena != nullptr) context_.communicator.reset();
  context_.arena = nullptr;
}

void JoinedWorld::work_on(const WorldSpec& spec, const Work& work) {
  const Backend& backend = find_backend(spec.backend);
  require(!backend.spans_machines || spec.transport.empty() || spec.transport == job_.transport,
          fmt::format("the ranks have joined over the transport {}, not {}: use --transport {}",
                      job_.transport, spec.transport, spec.transport));
  if (last_ != &backend) context_.communicator.reset();
  last_ = &backend;
  std::unique_ptr<JoinedMemory> memory;
  if (!backend.spans_machines) memory = share_memory(backend, spec);
  context_.rendezvous = memory ? &memory->rendezvous() : rendezvous_.get();
  context_.arena = memory ? memory->arena() : nullptr;
  context_.made = 0;
  std::exception_ptr refusal;
  try {
    work.run(context_);
  } catch (...) {
    if (!context_.all_refused) {
      if (memory) memory->abort(current_fault(rank()));
      leave(memory.get());
      throw;
    }
    refusal = std::current_exception();
  }
  leave(memory.get());
  if (memory) {
    memory.reset();
    rendezvous_->barrier();  // none ends before all have stopped watching it
  }
  if (refusal) std::rethrow_exception(refusal);
}

void JoinedWorld::breaking_if_failed(const std::function<void()>& task) {
  context_.all_refused = false;
  try {
    task();
  } catch (...) {
    if (!context_.all_refused) broken_ = current_fault(rank()).what;
    throw;
  }
}

void JoinedWorld::on_all(const WorldSpec& spec, Seconds timeout, const Work& work) {
  if (!broken_.empty()) throw TransportError("the ranks cannot go on after: " + broken_);
  context_.timeout = timeout;
  breaking_if_failed([&] { work_on(spec, work); });
}

}  // namespace collbench
