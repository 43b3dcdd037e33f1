// Our model: every algorithm that fits, as the machine suggests it, with every protocol of the
// machine's ladder, and what its switches add.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "algorithms/resolve.h"
#include "algorithms/synthesised.h"
#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/calibration/fit.h"
#include "heuristics/policies/policy.h"
#include "heuristics/predict.h"
#include "heuristics/round_costs.h"
#include "heuristics/synthesis/synthesise.h"
#include "topologies/wire_rings.h"

namespace collbench {
namespace {

constexpr const char* rings_over_wires = "ring:orders=wires";

// Making a schedule for more takes seconds; named explicitly it is made for any.
constexpr int most_synthesised = 32;
constexpr int most_on_grids = 64;
constexpr int most_on_tori = 128;

constexpr int worth_threads = 48;  // workers from which on a thread costs less than it saves

/// Of one round of each run of alike ones: what predict() looks at. Few ranks cannot send more than
/// `few`, and to count what they do send takes a tenth of predicting it.
double messages_to_look_at(const Schedule& schedule, double few) {
  const double tracks = std::max<double>(1, static_cast<double>(schedule.tracks().size()));
  const double most =
      tracks * schedule.ranks() * schedule.ranks() * static_cast<double>(schedule.runs().size());
  if (most <= few) return most;
  const std::vector<SampledRound> sampled = sample_sends(schedule, 64);
  double sends = 0;
  for (const SampledRound& round : sampled) sends += round.sends;
  const auto runs = static_cast<double>(schedule.runs().size());
  return sampled.empty() ? 0 : sends / static_cast<double>(sampled.size()) * runs;
}

std::string terms_of(const Prediction& p, const Machine& machine) {
  std::string text;
  const auto add = [&text](const char* what, Seconds time) {
    if (time <= Seconds{0}) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : " + ", what, to_string(time));
  };
  add("overhead", p.overhead);
  add("latency", p.latency);
  add("bandwidth", p.bandwidth);
  add("reduction", p.reduction);
  if (p.bottleneck >= 0 && p.bandwidth > Seconds{0}) {
    text += ", busiest " + machine.topology.link_name(p.bottleneck);
  }
  return text;
}

constexpr Bytes least_piece{512};  // less is never worth a message of a ring or a train
constexpr int pieces_unasked = 8;  // `segments` of trees, if not given
constexpr double most_pieces = 256;

/// Whether pieces of the vector follow each other through trees, and how many is left open.
bool leaves_pieces_open(const AlgorithmSpec& spec) {
  const bool is_tree = spec.name == "tree" || spec.name == "double-tree";
  return is_tree && spec.options.count("segments") == 0;
}

/// How many pieces trains should have that are predicted with those of the registry. One of p takes
/// fill + p rounds of latency + bandwidth / p each: least where p * p = fill * bandwidth / latency.
int better_pieces(const Schedule& schedule, const Prediction& predicted, Bytes bytes) {
  const double rounds = schedule.rounds();
  const double latency = predicted.latency.count() / rounds;
  const double bandwidth = predicted.bandwidth.count() / rounds * pieces_unasked;
  const double train = static_cast<double>(bytes.count) * pieces_unasked / schedule.chunks();
  const double most = std::min(most_pieces, train / static_cast<double>(least_piece.count));
  if (latency <= 0 || most <= 1) return 1;
  const double fill = std::max(0.0, rounds - pieces_unasked);
  const double best = std::clamp(std::sqrt(fill * bandwidth / latency), 1.0, most);
  return 1 << static_cast<int>(std::log2(best) + 0.5);
}

int ranks_of_node(const Question& question) {
  return ranks_on_node(question.machine->topology.layout(), question.workers, question.nodes);
}

bool have_seats_to_spare(const Question& question) {
  return have_spare_seats(question.machine->topology.layout(), question.workers, question.nodes);
}

/// Where ranks are on several nodes. As NCCL plays, each rank of a node is the one that leaves it
/// for a share of the vector, so that all adapters are used.
/// Inside a node all pairs exchange at once: the fewest rounds through a switch, and all links of a
/// full mesh.
constexpr int most_ways_out = 8;
void add_between_nodes(const Question& question, std::vector<std::string>& names) {
  const Layout& layout = question.machine->topology.layout();
  const int each = ranks_of_node(question);
  const int nodes = each > 0 ? question.workers / each : 1;
  if (nodes < 2) return;
  const int channels = std::min({layout.dims.front(), each, most_ways_out});
  if (question.collective == CollectiveKind::all_reduce) {
    names.push_back(fmt::format("double-tree:channels={}", channels));
  }
  names.emplace_back("hierarchical:inner=direct:outer=direct");
  if (nodes > 2) names.emplace_back("hierarchical:inner=direct:outer=circulant");
  if (question.bytes < least_piece * (channels * question.workers)) return;
  names.push_back(fmt::format("ring:channels={}", channels));
}

/// All of the registry that is available under some name, and what is listed with options.
std::vector<std::string> names_for(const Question& question) {
  std::vector<std::string> names;
  for (const AlgorithmInfo& info : algorithms()) {
    if (known_as(info.name, question.available)) names.emplace_back(info.name);
  }
  if (question.available.empty()) {
    const Layout& layout = question.machine->topology.layout();
    const bool has_lines = layout.kind == Layout::Kind::grid;
    const bool is_torus = has_lines && std::ranges::count(layout.wraps, false) == 0;
    // Their trees are made in a tenth of a second (heuristics/synthesis/level_trees.h).
    const bool has_level_trees =
        has_lines && (is_torus || question.collective != CollectiveKind::all_reduce);
    if (has_root(question.collective)) names.emplace_back("tree:chain");
    if (has_lines) names.emplace_back("torus:pincer");
    if (!has_root(question.collective)) add_between_nodes(question, names);
    if (!have_seats_to_spare(question) &&
        !wire_rings(question.machine->topology, question.workers).empty()) {
      names.emplace_back(rings_over_wires);
    }
    const int hosts = question.machine->topology.hosts();
    const int most = has_level_trees ? most_on_tori : has_lines ? most_on_grids : most_synthesised;
    if (has_synthesiser() && hosts == question.workers && hosts >= 2 && hosts <= most) {
      names.emplace_back(synthesised_row().name);
    }
  }
  for (const std::string& name : question.available) {
    const std::string base = parse_algorithm_spec(name).name;
    const bool is_synthesised = has_synthesiser() && base == synthesised_row().name;
    if (is_synthesised) names.push_back(name);
    if (is_synthesised || name.find(':') == std::string::npos) continue;
    const bool ours = std::any_of(algorithms().begin(), algorithms().end(),
                                  [&](const AlgorithmInfo& info) { return info.name == base; });
    if (ours) names.push_back(name);
  }
  return names;
}

class ModelPolicy {
 public:
  explicit ModelPolicy(const Question& question)
      : question_(question),
        machine_(*question.machine),
        placement_(seats_of_ranks(machine_.topology, question.workers, question.nodes)) {
    remember_machine(machine_);
  }

  /// One thread's, for the candidates that it predicts.
  RoundSpace space() const { return {machine_.topology, placement_}; }

  /// The candidate with its fastest protocol.
  Candidate candidate(const std::string& name, RoundSpace* space) const {
    Candidate found{name, "", {}, "", refusal(question_, name)};
    if (!found.refused.empty()) return found;
    try {
      const AlgorithmSpec spec = fit_to_nodes(parse_algorithm_spec(name), machine_.topology,
                                              question_.workers, question_.nodes);
      const std::string known = known_as(name, question_.available).value_or(name);
      // The rings over wires are many words; the name asks for them again.
      const bool as_asked =
          known != name || name == rings_over_wires || name == synthesised_row().name;
      found.algorithm = as_asked ? known : to_string(spec);
      const Schedule schedule = made(spec);
      const double messages = messages_to_look_at(schedule, question_.most_messages);
      // A candidate that was named explicitly is predicted whatever it costs.
      require(!question_.available.empty() || messages <= question_.most_messages,
              fmt::format("about {:.3g} messages, each unlike the others, are too many to predict; "
                          "name it as available to have it predicted",
                          messages));
      Machine routed = machine_;
      routed.topology = routed_for(spec, machine_.topology, question_.bytes, question_.collective);
      const bool has_ways = routed.topology.has_ways();  // other than those that `space` knows
      const Prediction predicted = take_fastest_rung(schedule, has_ways ? routed : machine_,
                                                     has_ways ? nullptr : space, found);
      if (question_.available.empty() && leaves_pieces_open(spec)) {
        try_pieces(spec, better_pieces(schedule, predicted, question_.bytes), space, found);
      }
    } catch (const InvalidArgument& e) {
      found.refused = e.what();
    }
    return found;
  }

  std::optional<Candidate> in_network() const {
    const auto& adds = machine_.costs.in_network;
    if (!adds || question_.collective != CollectiveKind::all_reduce) return {};
    Candidate found{adds->name, "", {}, "", refusal(question_, adds->name)};
    if (!found.refused.empty() && question_.available.empty()) found.refused.clear();
    if (!found.refused.empty()) return found;
    // NVLink's switches are those of a node, and so are others that add for no more ranks than it
    // has.
    const int each = ranks_of_node(question_);
    const bool are_inside =
        question_.workers <= adds->max_ranks &&
        (adds->is_inside_node() || adds->max_ranks <= seats_of_node(machine_.topology.layout()));
    if (are_inside && each > 0 && each < question_.workers) {
      found.refused = fmt::format("{} adds inside a node only", adds->name);
      return found;
    }
    try {
      const Prediction p = predict_in_network(machine_, question_.workers, question_.bytes,
                                              {question_.type, question_.op});
      found.time = p.time();
      found.terms = terms_of(p, machine_);
    } catch (const InvalidArgument& e) {
      found.refused = e.what();
    }
    return found;
  }

 private:
  Schedule made(const AlgorithmSpec& spec) const {
    return make_schedule(with_trees_only(spec), question_.workers, question_.bytes,
                         {question_.collective, 0, question_.counts});
  }

  /// Takes that many pieces if they are faster.
  void try_pieces(AlgorithmSpec spec, int pieces, RoundSpace* space, Candidate& found) const {
    if (pieces == pieces_unasked) return;
    spec.options.emplace("segments", std::to_string(pieces));
    Candidate other{to_string(spec), "", {}, "", ""};
    take_fastest_rung(made(spec), machine_, space, other);
    if (*other.time < *found.time) found = std::move(other);
  }

  Prediction take_fastest_rung(const Schedule& schedule, const Machine& machine, RoundSpace* space,
                               Candidate& found) const {
    VectorSpec work;
    work.type = question_.type;
    work.count = question_.bytes.count / size_of(question_.type);
    const std::vector<Prediction> ladder =
        predict_ladder(schedule, machine, placement_, work, space);
    const std::size_t rung = fastest_rung(ladder);
    const Prediction& least = ladder[rung];
    found.time = least.time();
    if (!machine_.costs.protocols.empty()) found.protocol = machine_.costs.protocols[rung].name;
    found.terms = terms_of(least, machine_);
    return least;
  }

  const Question& question_;
  const Machine& machine_;
  std::vector<Host> placement_;
};

/// Many ranks take milliseconds per candidate, so several are predicted at once.
std::vector<Candidate> predict_all(const ModelPolicy& model, const std::vector<std::string>& names,
                                   int workers) {
  std::vector<Candidate> candidates(names.size());
  std::atomic<std::size_t> next{0};
  // Those with options are last in the list and take the longest.
  const auto work = [&] {
    RoundSpace space = model.space();
    RoundSpace* const shared = names.size() > 1 ? &space : nullptr;  // one alone takes all threads
    for (std::size_t i = next++; i < names.size(); i = next++) {
      const std::size_t at = names.size() - 1 - i;
      candidates[at] = model.candidate(names[at], shared);
    }
  };
  std::vector<std::future<void>> others;
  const unsigned threads = workers < worth_threads ? 1 : std::thread::hardware_concurrency();
  for (unsigned i = 1; i < std::min(threads, 8U); ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
  return candidates;
}

/// RCCL's kernels where it takes them, for a question that lists them: no schedule is like them.
std::optional<Candidate> all_pairs(const Question& question) {
  constexpr std::string_view name = "all-pairs";
  if (std::ranges::find(question.available, name) == question.available.end()) return {};
  const std::optional<InsideLibrary> inside = inside_library(question);
  if (!inside || inside->chosen.algorithm != name) return {};
  return inside->chosen;
}

/// Of tracks that meet on links prediction takes a share of each other's load, which is up to so
/// far off (results/studies/model-and-fluid): a lead that is less may be none.
void doubt_lead_of_synth(Answer& answer) {
  constexpr double surely_ahead = 1.15;
  if (answer.algorithm != synthesised_row().name || answer.candidates.size() < 2) return;
  const Candidate& next = answer.candidates[1];
  if (!next.time || *next.time > surely_ahead * *answer.candidates[0].time) return;
  answer.warnings.push_back(fmt::format(
      "the tracks of {} meet on links, for which its time is up to 15 % off, and {} may "
      "be faster: simulate -A auto plays both",
      answer.algorithm, name_of(next)));
}

}  // namespace

Answer ask_model(const Question& question) {
  std::string why_not;
  if (std::optional<Answer> fitted = ask_fitted(question, why_not)) return *std::move(fitted);
  require(question.machine != nullptr, "the model needs a machine: name one (--topo)");
  const ModelPolicy model(question);
  std::vector<Candidate> candidates = predict_all(model, names_for(question), question.workers);
  if (std::optional<Candidate> adds = model.in_network()) candidates.push_back(std::move(*adds));
  if (std::optional<Candidate> kernels = all_pairs(question)) candidates.push_back(*kernels);
  Answer answer = take_fastest(std::move(candidates));
  doubt_lead_of_synth(answer);
  if (!why_not.empty()) {
    const int each = std::max(1, ranks_of_node(question));
    answer.warnings.push_back(fmt::format("{}; played on the plain machine as {} of {}", why_not,
                                          counted(question.workers / each, "host"),
                                          counted(each, "rank")));
  }
  return answer;
}

}  // namespace collbench
