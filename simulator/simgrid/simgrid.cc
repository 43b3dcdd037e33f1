#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>

#include "algorithms/combinators.h"
#include "core/error.h"
#include "core/packet.h"
#include "core/stop_request.h"
#include "simulator/engines.h"
#include "simulator/rank_program.h"
#include "simulator/simgrid/child.h"
#include "simulator/simgrid/endpoint.h"
#include "simulator/simgrid/kernel.h"
#include "simulator/simgrid/world.h"
#include "simulator/simulate.h"
#include "transports/exact_check.h"
#include "transports/play/execute.h"

namespace collbench {
namespace {

// Adds the rounds up as if ranks waited for each other after each: its longest latency, its
// busiest link and its longest message.
class SurveyedRounds {
 public:
  explicit SurveyedRounds(const Program& program)
      : program_(program), load_(program.capacities().size()) {}

  void add(const Flow& flow) {
    latency_ = std::max(latency_, flow.latency.count());
    if (flow.cap > 0) longest_ = std::max(longest_, flow.wire_bytes / flow.cap);
    for (const LinkPath::Use& use : program_.paths()[static_cast<std::size_t>(flow.path)].links) {
      const auto link = static_cast<std::size_t>(use.link);
      if (load_[link] == 0) touched_.push_back(link);
      load_[link] += flow.wire_bytes;
    }
  }
  double end_round() {
    for (const std::size_t link : touched_) {
      longest_ = std::max(longest_, load_[link] / program_.capacities()[link]);
      load_[link] = 0;
    }
    touched_.clear();
    return std::exchange(latency_, 0) + std::exchange(longest_, 0);
  }

 private:
  const Program& program_;
  std::vector<double> load_;
  std::vector<std::size_t> touched_;
  double latency_ = 0;
  double longest_ = 0;
};

// A ring has four steps per message in its plans. Stacks are touched for some pages only.
void require_room(const Scenario& scenario, std::int64_t messages) {
  constexpr double bytes_per_message = 4 * sizeof(Step) + 64;
  constexpr double bytes_per_actor = 64 << 10;
  const double ranks = scenario.schedule.ranks();
  double bytes = static_cast<double>(messages) * bytes_per_message +
                 ranks * (ranks * sizeof(void*) + bytes_per_actor);
  if (scenario.real_data) {
    bytes += 3 * ranks * static_cast<double>(scenario.count) * size_of(scenario.type);
  }
  require_memory(static_cast<std::size_t>(bytes),
                 fmt::format("simgrid with {} ranks and {} messages (fluid needs far less)",
                             scenario.schedule.ranks(), messages));
}

// What is needed of a scenario before the SimGrid platform is built: routes, memory, and how long
// it takes.
struct SimgridSurvey {
  /// Pairs of ranks that talk, by sender: the receiver and its path.
  std::vector<std::vector<std::pair<Rank, std::int32_t>>> routes;
  std::int64_t messages = 0;
  double seconds = 0;  // the order of magnitude of the simulated time
};

/// Goes through all turns, so that the program knows all routes afterwards. Throws InvalidArgument
/// if sends and receives do not match, if ranks that talk share a host, or if the actors and their
/// plans would not fit into memory.
SimgridSurvey simgrid_survey(RankProgram& program, const Scenario& scenario) {
  require_room(scenario, 0);
  SimgridSurvey survey;
  std::int64_t checked = 0;
  survey.routes.resize(static_cast<std::size_t>(program.positions()));
  std::vector<bool> known;
  SurveyedRounds rounds(program);
  Turn turn;
  for (int t = 0; t < program.rounds(); ++t) {
    leave_if_stopped();
    double reduction = 0;
    for (Rank r = 0; r < program.positions(); ++r) {
      program.turn(r, t, turn);
      reduction = std::max(reduction, turn.reduction.count());
      survey.messages += static_cast<std::int64_t>(turn.sends.size());
      for (const Flow& flow : turn.sends) {
        const auto path = static_cast<std::size_t>(flow.path);
        require(!program.paths()[path].links.empty(),
                fmt::format("simgrid needs links between ranks, but {} and {} share a host", r,
                            flow.to));
        if (known.size() <= path) known.resize(path + 1);
        if (!known[path]) survey.routes[static_cast<std::size_t>(r)].emplace_back(flow.to, path);
        known[path] = true;
        rounds.add(flow);
      }
    }
    survey.seconds += rounds.end_round() + reduction;
    if (survey.messages > 2 * checked) require_room(scenario, checked = survey.messages);
  }
  require_room(scenario, survey.messages);
  require_matched(program, scenario.schedule);
  double last_start = 0;
  for (Rank r = 0; r < program.positions(); ++r) {
    last_start = std::max(last_start, program.start(r).count());
  }
  survey.seconds += last_start;
  return survey;
}

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

// Loaded once, before the first child is made: loading takes longer than most simulations.
MakeSimgridKernel* kernel_maker() {
  static MakeSimgridKernel* const maker = [] {
    const std::string path = module_path();
    void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (module == nullptr) {
      throw Unavailable(fmt::format("engine simgrid cannot be loaded: {}", dlerror()));
    }
    void* const make = dlsym(module, simgrid_kernel_function);
    if (make == nullptr) throw Unavailable(fmt::format("{} is not an engine of ours", path));
    return reinterpret_cast<MakeSimgridKernel*>(make);
  }();
  return maker;
}

// What the child sends back: an Outcome's numbers, one after the other.
template <typename T>
void write_values(PacketWriter& writer, const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  writer.memory(std::as_bytes(std::span(values)));
}

template <typename T>
void read_values(PacketReader& reader, std::vector<T>& values) {
  const std::span<const std::byte> bytes = reader.memory();
  values.resize(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
}

std::vector<Seconds> read_outcome(std::span<const std::byte> bytes, Outcome& outcome) {
  PacketReader reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::vector<Seconds> ends;
  read_values(reader, ends);
  read_values(reader, outcome.round_end);
  read_values(reader, outcome.links);
  read_values(reader, outcome.transfers);
  outcome.messages = reader.number();
  outcome.wrong = reader.number();
  return ends;
}

constexpr std::uint64_t check_seed = 1;  // of the values of all ranks

// One simulation, in the child.
class Simulation {
 public:
  Simulation(const Scenario& scenario, RankProgram& program, const SimgridSurvey& survey,
             Child& child)
      : scenario_(scenario),
        program_(program),
        kernel_(make_kernel(program.positions(), survey.seconds)),
        world_(scenario, program, *kernel_, child),
        child_(child),
        tracks_(played_tracks()),
        vectors_(static_cast<std::size_t>(program.ranks())),
        ends_(static_cast<std::size_t>(program.positions())) {
    for (const double capacity : program.capacities()) kernel_->add_link(capacity);
    for (std::size_t from = 0; from < survey.routes.size(); ++from) {
      for (const auto& [to, path] : survey.routes[from])
        add_route(static_cast<int>(from), to, path);
    }
    if (scenario.real_data) {
      exact_ = elements([&](std::int64_t at) {
        return exact_result(scenario.type, scenario.op, program.ranks(), at, check_seed);
      });
    }
  }

  std::vector<std::byte> run() {
    if (scenario_.real_data) {
      for (Rank rank = 0; rank < program_.ranks(); ++rank) {
        vectors_[static_cast<std::size_t>(rank)] = elements([&](std::int64_t at) {
          return exact_input(scenario_.type, scenario_.op, program_.ranks(), rank, at, check_seed);
        });
      }
    }
    for (int position = 0; position < program_.positions(); ++position) {
      kernel_->spawn(position, [this, position] { act(position); });
    }
    kernel_->run([this] { child_.give_up("the ranks wait for each other, and nothing flows"); });
    if (scenario_.real_data) {
      for (Rank rank = 0; rank < program_.ranks(); ++rank) {
        wrong_ += count_unlike(vector_of(rank), exact_.data());
      }
    }
    PacketWriter writer;
    write_values(writer, ends_);
    write_values(writer, world_.round_end());
    write_values(writer, world_.links());
    write_values(writer, world_.transfers());
    writer.number(world_.messages()).number(scenario_.real_data ? wrong_ : -1);
    // SimGrid's own end is as slow as its beginning, and this process ends anyway.
    kernel_.release();
    const auto bytes = std::as_bytes(std::span(writer.packet()));
    return {bytes.begin(), bytes.end()};
  }

 private:
  static std::unique_ptr<SimgridKernel> make_kernel(int positions, double seconds) {
    // Moments are sums of few numbers: far apart compared to their rounding, close compared to all.
    const double precision = seconds > 0 ? 3e-14 * seconds : 1e-18;
    const SimgridKernel::Settings settings{positions, precision};
    return std::unique_ptr<SimgridKernel>(kernel_maker()(&settings));
  }

  void add_route(int from, int to, std::int32_t path) {
    std::vector<int> links;
    for (const LinkPath::Use& use : program_.paths()[static_cast<std::size_t>(path)].links) {
      links.push_back(use.link);
    }
    kernel_->add_route(from, to, links);
  }

  // Equal chunks are played as one element each, which stands for a real number of bytes.
  std::vector<Schedule> played_tracks() const {
    std::vector<Schedule> played;
    for (int s = 0; s < program_.tracks(); ++s) {
      const Schedule& track = track_of(scenario_.schedule, s);
      const auto element_each = [](int chunk, std::int64_t count, int) {
        return count == 0 ? 0 : chunk;
      };
      played.push_back(scenario_.equal_chunks ? track.with_partition(element_each) : track);
    }
    return played;
  }
  std::int64_t played_count() const {
    return scenario_.equal_chunks && scenario_.count > 0 ? scenario_.schedule.chunks()
                                                         : scenario_.count;
  }
  double element_bytes() const {
    const double all = static_cast<double>(scenario_.count) * size_of(scenario_.type);
    return played_count() > 0 ? all / static_cast<double>(played_count()) : 0;
  }
  Region vector_of(Rank rank) {
    std::vector<std::byte>& memory = vectors_[static_cast<std::size_t>(rank)];
    return {memory.empty() ? nullptr : memory.data(), played_count(), scenario_.type};
  }

  // A vector of `value` at each place.
  template <typename Value>
  std::vector<std::byte> elements(const Value& value) const {
    const int width = size_of(scenario_.type);
    std::vector<std::byte> bytes(static_cast<std::size_t>(played_count() * width));
    for (std::int64_t at = 0; at < played_count(); ++at) {
      encode(scenario_.type, value(at), bytes.data() + at * width);
    }
    return bytes;
  }

  void act(int position) {
    try {
      kernel_->sleep_until(program_.start(position).count());
      play(position);
    } catch (const std::exception& error) {  // but not what SimGrid throws to end an actor
      child_.give_up(error.what());
    }
  }

  void play(int position) {
    const Rank rank = position % program_.ranks();
    const Schedule& track = tracks_[static_cast<std::size_t>(position / program_.ranks())];
    SimulatedEndpoint endpoint(world_, track, position, element_bytes());
    BoundPlan plan(Plan(track, rank, played_count(), scenario_.type, scenario_.op, true), endpoint);
    const Region vector = vector_of(rank);
    execute(plan, vector, vector);
    ends_[static_cast<std::size_t>(position)] = Seconds{endpoint.finish()};
  }

  const Scenario& scenario_;
  RankProgram& program_;
  std::unique_ptr<SimgridKernel> kernel_;
  SimgridWorld world_;
  Child& child_;
  std::vector<Schedule> tracks_;
  std::vector<std::vector<std::byte>> vectors_;  // by rank; empty without real data
  std::vector<Seconds> ends_;                    // by position
  std::vector<std::byte> exact_;
  std::int64_t wrong_ = 0;
};

}  // namespace

Outcome simulate_simgrid(const Scenario& scenario) {
  require(!scenario.machine.topology.has_ways(),
          "SimGrid has one route for each pair; engine fluid plays messages that are spread over "
          "several ways");
  const auto program = rank_program(scenario);
  if (scenario.real_data) {
    require(!scenario.equal_chunks, "equal chunks have sizes only; real data needs whole elements");
  }
  // All routes are asked for here: a topology may keep them under a lock.
  const SimgridSurvey known = simgrid_survey(*program, scenario);
  kernel_maker();
  const std::vector<std::byte> result =
      run_in_child([&](Child& child) { return Simulation(scenario, *program, known, child).run(); },
                   {.name = "simgrid"});
  Outcome outcome;
  outcome.engine = Engine::simgrid;
  std::vector<Seconds> ends;
  try {
    ends = read_outcome(result, outcome);
  } catch (const InvalidArgument& error) {
    throw TransportError(fmt::format("simgrid: the result of the simulation: {}", error.what()));
  }
  outcome.messages_played = outcome.messages;
  set_times(*program, ends, scenario, outcome);
  return outcome;
}

}  // namespace collbench
