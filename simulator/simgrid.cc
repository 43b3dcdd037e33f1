#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/error.h"
#include "simulator/engines.h"
#include "simulator/rank_program.h"
#include "simulator/simgrid_check.h"
#include "simulator/simgrid_child.h"
#include "simulator/simgrid_endpoint.h"
#include "simulator/simgrid_kernel.h"
#include "simulator/simgrid_survey.h"
#include "simulator/simgrid_world.h"
#include "transports/execute.h"

namespace collbench {
namespace {

// The module stands beside an installed command, also one that was moved, where it was built, or
// where it was to be installed (for programs of others).
std::string module_path() {
  const std::filesystem::path built = COLLBENCH_SIMGRID_BUILT;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto beside =
      program.parent_path() / COLLBENCH_SIMGRID_FROM_PROGRAM / "collbench" / built.filename();
  for (const std::filesystem::path& path : {beside, built}) {
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return COLLBENCH_SIMGRID_INSTALLED;
}

std::unique_ptr<SimgridKernel> make_kernel(const SimgridKernel::Settings& settings) {
  const std::string path = module_path();
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    throw Unavailable(fmt::format("engine simgrid cannot be loaded: {}", dlerror()));
  }
  void* const make = dlsym(module, simgrid_kernel_function);
  if (make == nullptr) throw Unavailable(fmt::format("{} is not an engine of ours", path));
  return std::unique_ptr<SimgridKernel>(reinterpret_cast<MakeSimgridKernel*>(make)(&settings));
}

// What the child sends back: an Outcome's numbers, one after the other.
class Packer {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values) put(value);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  template <typename T>
  void get(T& value) {
    if (bytes_.size() - at_ < sizeof value) {
      throw TransportError("simgrid: the result of the simulation ends too early");
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
  }
  template <typename T>
  void get(std::vector<T>& values) {
    std::size_t size = 0;
    get(size);
    values.clear();
    for (std::size_t i = 0; i < size; ++i) get(values.emplace_back());
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

// One simulation, in the child.
class Simulation {
 public:
  Simulation(const Scenario& scenario, RankProgram& program, const SimgridSurvey& survey,
             Child& child)
      : scenario_(scenario),
        program_(program),
        kernel_(make_kernel({program.positions(), precision(survey.seconds)})),
        world_(scenario, program, *kernel_, child),
        child_(child),
        schedule_(played_schedule()),
        ends_(static_cast<std::size_t>(program.positions())) {
    for (const double capacity : program.capacities()) kernel_->add_link(capacity);
    for (std::size_t from = 0; from < survey.routes.size(); ++from) {
      for (const auto& [to, path] : survey.routes[from])
        add_route(static_cast<int>(from), to, path);
    }
    if (scenario.real_data) {
      exact_ = exact_reduction(scenario.type, scenario.op, program.positions(), scenario.count);
    }
  }

  std::vector<std::byte> run() {
    for (Rank rank = 0; rank < program_.positions(); ++rank) {
      kernel_->spawn(rank, [this, rank] { act(rank); });
    }
    kernel_->run([this] { child_.give_up("the ranks wait for each other, and nothing flows"); });
    Packer packer;
    packer.put(ends_);
    packer.put(world_.round_end());
    packer.put(world_.links());
    packer.put(world_.transfers());
    packer.put(world_.messages());
    packer.put(scenario_.real_data ? wrong_ : std::int64_t{-1});
    // SimGrid's own end is as slow as its beginning, and this process ends anyway.
    kernel_.release();
    return packer.take();
  }

 private:
  // Moments are sums of few numbers: far apart compared to their rounding, close compared to all.
  static double precision(double seconds) { return seconds > 0 ? 3e-14 * seconds : 1e-18; }

  void add_route(int from, int to, std::int32_t path) {
    std::vector<int> links;
    for (const Path::Use& use : program_.paths()[static_cast<std::size_t>(path)].links) {
      links.push_back(use.link);
    }
    kernel_->add_route(from, to, links);
  }

  // Equal chunks are played as one element each, which stands for a real number of bytes.
  Schedule played_schedule() const {
    const Schedule& s = scenario_.schedule;
    if (!scenario_.equal_chunks) return s;
    return Schedule(
        s.name(), {s.ranks(), s.chunks(), s.rounds()},
        [s](Rank rank, int round, Round& out) { s.round(rank, round, out); },
        [](int chunk, std::int64_t count, int) { return count == 0 ? 0 : chunk; });
  }
  std::int64_t played_count() const {
    return scenario_.equal_chunks && scenario_.count > 0 ? schedule_.chunks() : scenario_.count;
  }
  double element_bytes() const {
    const double all = static_cast<double>(scenario_.count) * size_of(scenario_.type);
    return played_count() > 0 ? all / static_cast<double>(played_count()) : 0;
  }

  void act(Rank rank) {
    try {
      kernel_->sleep_until(program_.start(rank).count());
      play(rank);
    } catch (const std::exception& error) {  // but not what SimGrid throws to end an actor
      child_.give_up(error.what());
    }
  }

  void play(Rank rank) {
    const std::int64_t count = played_count();
    SimulatedEndpoint endpoint(world_, schedule_, rank, element_bytes());
    BoundPlan plan(Plan(schedule_, rank, count, scenario_.type, scenario_.op, true), endpoint);
    std::vector<std::byte> memory;
    Region vector{nullptr, count, scenario_.type};
    if (scenario_.real_data) {
      memory.resize(static_cast<std::size_t>(vector.size().count));
      vector.data = memory.data();
      fill_exact(vector, scenario_.op, program_.positions(), rank);
    }
    execute(plan, vector, vector);
    ends_[static_cast<std::size_t>(rank)] = Seconds{endpoint.finish()};
    if (scenario_.real_data) wrong_ += count_inexact(vector, exact_);
  }

  const Scenario& scenario_;
  RankProgram& program_;
  std::unique_ptr<SimgridKernel> kernel_;
  SimgridWorld world_;
  Child& child_;
  Schedule schedule_;
  std::vector<Seconds> ends_;
  std::vector<double> exact_;
  std::int64_t wrong_ = 0;
};

void set_time(Outcome& outcome, const Scenario& scenario, const Program& program) {
  Seconds first = program.start(0);
  Seconds last{0};
  for (int r = 0; r < program.positions(); ++r) {
    Seconds& end = outcome.rank_end[static_cast<std::size_t>(r)];
    end += scenario.machine.costs.per_collective;
    first = std::min(first, program.start(r));
    last = std::max(last, end);
  }
  outcome.time = last - first;
}

}  // namespace

bool simgrid_available() { return true; }

Outcome simulate_simgrid(const Scenario& scenario) {
  const auto program = rank_program(scenario);
  if (scenario.real_data) {
    require(!scenario.equal_chunks, "equal chunks have sizes only; real data needs whole elements");
    require_exact_sums(scenario.type, scenario.op, program->positions());
  }
  // All routes are asked for here: a topology may keep them under a lock.
  const SimgridSurvey known = simgrid_survey(*program, scenario);
  Unpacker result(
      run_in_child([&](Child& child) { return Simulation(scenario, *program, known, child).run(); },
                   {.name = "simgrid"}));
  Outcome outcome;
  outcome.engine = Engine::simgrid;
  result.get(outcome.rank_end);
  result.get(outcome.round_end);
  result.get(outcome.links);
  result.get(outcome.transfers);
  result.get(outcome.messages);
  result.get(outcome.wrong);
  outcome.messages_played = outcome.messages;
  set_time(outcome, scenario, *program);
  return outcome;
}

}  // namespace collbench
