#include "bench/measure/sampler.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/measure/observation.h"
#include "bench/measure/stamps.h"
#include "bench/measure/stopping_rule.h"
#include "bench/measure/visible_buffers.h"
#include "bench/records/case_fields.h"
#include "bench/records/report.h"
#include "core/error.h"
#include "core/output_file.h"
#include "core/stop_request.h"
#include "transports/exact_check.h"
#include "transports/faults/injected_fault.h"
#include "transports/faults/injected_lateness.h"

namespace collbench {
namespace {

// Back-to-back batches, and how much of max_time all of them may take; none has more iterations
// than were asked for.
constexpr int back_to_back_batches = 5;
constexpr double back_to_back_share = 0.1;
constexpr int longest_back_to_back = 1000;

/// The different values of a field of cases, in their order: "f32" or "1 KiB, 4 KiB".
std::string values_of(std::span<const Case> cases, const JsonField<Case>& field) {
  constexpr std::size_t most_told = 8;
  std::vector<std::string> values;
  for (const Case& point : cases) {
    const std::string value = field_text(field, point);
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  }
  if (values.size() <= most_told) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{} to {} ({} of them)", values.front(), values.back(), values.size());
}

class Sampler {
 public:
  Sampler(const Case& point, const Sampling& sampling, Communicator& tested, Rendezvous& rendezvous,
          const UserBuffers& buffers, const NanosecondClock& clock)
      : point_(point),
        sampling_(sampling),
        rule_(sampling),
        tested_(tested),
        rendezvous_(rendezvous),
        buffers_(buffers),
        clock_(clock),
        collective_(collective_of(point)),
        before_(elements_before(collective_, tested.rank(), tested.ranks(), element_count(point))),
        after_(elements_after(collective_, tested.rank(), tested.ranks(), element_count(point))),
        groups_(groups_of(point)),
        seed_(sampling.seed + static_cast<std::uint64_t>(first_of_group(rendezvous.rank()))),
        inputs_(point.type, point.op, tested.ranks(), tested.rank(), seed_),
        visible_(buffers.copies(), inputs_),
        checks_each_(sampling.check && point.buffers == Buffers::produced &&
                     adds(point.collective) && buffers.copies().download == nullptr),
        late_(point.inject, rendezvous.rank()) {}

  Measurement run() {
    require_same(agreed_values({&point_, 1}, sampling_), rendezvous_);
    if (sampling_.check) {
      // Where every iteration is checked, only inputs that must stay as they are remain to be.
      if (!checks_each_ || !point_.in_place) check();
      compare_replicas();
    }
    fill_all();
    warm_up();
    if (point_.collective == CollectiveKind::all_reduce) {
      measured_.estimate = tested_.estimate(buffers_.in(0), buffers_.out(0), point_.op);
    }
    time_latency();
    measured_.spent_ns = static_cast<std::int64_t>(elapsed_.count() * 1e9);
    check_each();
    if (sampling_.back_to_back && !stopped()) time_back_to_back();
    // The result is checked once more, unless every iteration was and no time is left.
    const bool is_known = measured_.each_checked && time_is_spent();
    if (sampling_.check && !stopped() && !is_known) check();
    if (!sampling_.observe.empty() && !stopped()) observe();
    measured_.played = tested_.description();
    if (!stopped()) name_faults_without_effect();
    if (stopped()) {
      measured_.warnings.push_back(
          fmt::format("stopped by a signal after {} iterations", measured_.latency_ns.size()));
    }
    return std::move(measured_);
  }

 private:
  static Groups groups_of(const Case& point) {
    Groups groups = parse_groups(point.groups, point.workers);
    if (groups.empty()) {
      groups.emplace_back(static_cast<std::size_t>(point.workers));
      std::iota(groups[0].begin(), groups[0].end(), 0);
    }
    return groups;
  }
  Rank first_of_group(Rank rank) const {
    const auto has_it = [rank](const std::vector<Rank>& group) {
      return std::ranges::find(group, rank) != group.end();
    };
    return std::ranges::find_if(groups_, has_it)->front();
  }

  // The rank's parts of the vectors of a set.
  Region in(std::int64_t set) const { return buffers_.in(set).part(before_.first, before_.count); }
  Region out(std::int64_t set) const { return buffers_.out(set).part(after_.first, after_.count); }

  void play(std::int64_t set) { tested_.perform(collective_, in(set), out(set), point_.op); }

  // What the rank has of the vector before, and other values everywhere else.
  void fill(std::int64_t set, InputKind kind) {
    const bool has_all = before_.count == buffers_.in(set).count;
    if (!point_.in_place) visible_.fill(buffers_.out(set), InputKind::rough);
    if (!has_all) visible_.fill(buffers_.in(set), InputKind::rough);
    if (has_all || kind == InputKind::exact) visible_.fill(buffers_.in(set), kind, before_);
  }

  void fill_all() {
    for (int set = 0; set < buffers_.sets(); ++set) fill(set, InputKind::exact);
  }

  std::int64_t count_wrong_results() {
    const Region vector = visible_.readable(buffers_.out(0));
    if (adds(point_.collective)) return inputs_.count_wrong_results(vector, after_);
    std::int64_t wrong = 0;
    const int ranks = tested_.ranks();
    for (Rank source = 0; source < ranks; ++source) {
      const Elements copied = elements_before(collective_, source, ranks, vector.count);
      if (copied.count == 0) continue;
      const CheckInputs others(point_.type, point_.op, ranks, source, seed_);
      wrong += others.count_changed_inputs(vector, copied);
    }
    return wrong;
  }

  // Runs once on exact inputs; adds up what is wrong and whether bits differ between ranks.
  void check() {
    fill(0, InputKind::exact);
    rendezvous_.barrier();
    play(0);
    std::int64_t wrong = count_wrong_results();
    if (!point_.in_place) {
      wrong += inputs_.count_changed_inputs(visible_.readable(buffers_.in(0)), before_);
    }
    measured_.wrong = std::max<std::int64_t>(measured_.wrong, 0);
    for (const std::int64_t of_rank : rendezvous_.gather(std::span(&wrong, 1))) {
      measured_.wrong += of_rank;
    }
    compare_results();
  }

  // Runs once on inputs whose sums round, so that ranks that add in different orders differ.
  void compare_replicas() {
    fill(0, InputKind::rough);
    rendezvous_.barrier();
    play(0);
    compare_results();
  }

  // Inputs that others can make, and what rank 0 ends with.
  void observe() {
    const Region vector = buffers_.in(0);
    visible_.put(vector, observed_inputs(vector, rendezvous_.rank(), sampling_.seed).data());
    rendezvous_.barrier();
    play(0);
    if (rendezvous_.rank() != 0) return;
    OutputFile file(sampling_.observe);
    write_observation(file.stream(), visible_.readable(buffers_.out(0)), rendezvous_.ranks(),
                      sampling_.seed);
    file.commit();
  }

  void compare_results() {
    // Elsewhere ranks end with different parts of the result.
    const bool alike = point_.collective == CollectiveKind::all_reduce ||
                       point_.collective == CollectiveKind::all_gather ||
                       point_.collective == CollectiveKind::broadcast;
    if (!alike) return;
    const auto hash = static_cast<std::int64_t>(hash_bits(visible_.readable(buffers_.out(0))));
    const std::vector<std::int64_t> hashes = rendezvous_.gather(std::span(&hash, 1));
    for (const std::vector<Rank>& group : groups_) {
      const auto hash_of = [&](Rank member) { return hashes[static_cast<std::size_t>(member)]; };
      for (const Rank member : group) {
        measured_.replicas_identical &= hash_of(member) == hash_of(group.front());
      }
    }
  }

  // A training step reads a result before it writes the next inputs. The pass that does so here
  // compares with the exact result, a tile in the cache: it takes no longer than adding up would.
  void read_result(std::int64_t set) {
    if (!checks_each_ || set < buffers_.sets()) return visible_.consume(out(set));
    wrong_while_timed_ += inputs_.count_wrong_results(buffers_.out(set), after_);
  }

  // Adds up what iterations left wrong, those of the warm-up among them.
  void check_each() {
    if (!checks_each_) return;
    for (int i = 0; i < buffers_.sets(); ++i) read_result(next_set_ + i);
    measured_.wrong = std::max<std::int64_t>(measured_.wrong, 0);
    for (const std::int64_t wrong : rendezvous_.gather(std::span(&wrong_while_timed_, 1))) {
      measured_.wrong += wrong;
    }
    measured_.each_checked = true;
  }

  // Between timed iterations: nothing, or what a training step does to the buffers.
  void prepare(std::int64_t set) {
    if (point_.buffers != Buffers::produced) return;
    read_result(set);
    visible_.fill(buffers_.in(set), InputKind::exact, before_);
  }

  Stamp time_one() {
    const std::int64_t set = next_set_++;
    prepare(set);
    rendezvous_.barrier();
    late_.arrive();
    Stamp stamp;
    stamp.arrival_ns = clock_();
    play(set);
    stamp.completion_ns = clock_();
    rendezvous_.note_progress();
    // Where ranks share cores, one that began to prepare the next iteration would keep a neighbour
    // from seeing that this one is complete, and its work would count as latency.
    if (point_.buffers == Buffers::produced) rendezvous_.barrier();
    return stamp;
  }

  // Times `iterations` on every rank and adds them to `into`.
  void time_batch(int iterations, Measurement& into) {
    std::vector<std::int64_t> mine;
    mine.reserve(static_cast<std::size_t>(2 * iterations));
    for (int i = 0; i < iterations; ++i) {
      const Stamp stamp = time_one();
      mine.push_back(stamp.arrival_ns);
      mine.push_back(stamp.completion_ns);
    }
    const std::vector<std::int64_t> all = rendezvous_.gather(mine);
    std::vector<Stamp> stamps;
    for (std::size_t i = 0; i < all.size(); i += 2) stamps.push_back({all[i], all[i + 1]});
    append_batch(stamps, rendezvous_.ranks(), rendezvous_.one_clock(), into);
    if (sampling_.rank_times) append_rank_times(stamps, rendezvous_.ranks(), into);
    last_batch_ = iterations;
  }

  void warm_up() {
    Measurement warm;
    for (int done = 0; !agree_on_time();) {
      const int batch = rule_.next_warmup(done, elapsed_, pace_);
      if (batch == 0) return;
      time_batch(batch, warm);
      done += batch;
    }
  }

  // Takes rank 0's clock, so that every rank has the same numbers; and whether any rank has had a
  // stop signal, so that all stop at the same place.
  bool agree_on_time() {
    const std::array<std::int64_t, 2> mine{monotonic_ns() - begin_ns_, stop_signal()};
    const std::vector<std::int64_t> all = rendezvous_.gather(mine);
    for (std::size_t i = 1; i < all.size() && !stopped(); i += 2) {
      if (all[i] == 0) continue;
      measured_.stopped_by = fmt::format("{} at rank {}", stop_name(all[i]), i / 2);
    }
    const Seconds now{static_cast<double>(all[0]) * 1e-9};
    if (last_batch_ > 0) pace_ = (now - elapsed_) / last_batch_;
    last_batch_ = 0;
    elapsed_ = now;
    return stopped();
  }
  bool stopped() const { return !measured_.stopped_by.empty(); }

  // Whether the case has used up its time, and was not asked for a number of iterations. All ranks
  // agree: it is rank 0's clock.
  bool time_is_spent() const { return sampling_.iterations == 0 && elapsed_ >= sampling_.max_time; }

  void time_latency() {
    while (!agree_on_time()) {
      const int batch = rule_.next(measured_.latency_ns, elapsed_, pace_);
      if (batch == 0) return;
      time_batch(batch, measured_);
    }
  }

  int back_to_back_iterations() const {
    // Not the median: on a busy machine most iterations are short, and a few take all the time.
    const auto sum = std::accumulate(measured_.latency_ns.begin(), measured_.latency_ns.end(), 1.0);
    const double mean = sum / std::max(static_cast<double>(measured_.latency_ns.size()), 1.0);
    const double share = back_to_back_share / back_to_back_batches;
    const double time =
        std::min(sampling_.max_time.count() * share, StoppingRule::longest_batch_time.count());
    const double batch = time * 1e9 / mean;
    const int asked = sampling_.iterations > 0 ? sampling_.iterations : longest_back_to_back;
    const int most = std::clamp(asked, 2, longest_back_to_back);
    return std::clamp(static_cast<int>(std::min(batch, 1e6)), 2, most);
  }

  void time_back_to_back() {
    const int iterations = back_to_back_iterations();
    // A rank without progress for the timeout is lost, and what costs some nanoseconds is done
    // where it does not show in the time of an iteration.
    const int stride = summarize(measured_.latency_ns).median_ns > 2e4 ? 1 : 64;
    for (int batch = 0; batch < back_to_back_batches; ++batch) {
      if (agree_on_time() || time_is_spent()) return;
      rendezvous_.barrier();
      const std::int64_t start = clock_();
      for (int i = 0; i < iterations; ++i) {
        play(next_set_++);
        if (i % stride == 0) rendezvous_.note_progress();
      }
      const std::int64_t mine = (clock_() - start) / iterations;
      rendezvous_.note_progress();
      const std::vector<std::int64_t> all = rendezvous_.gather(std::span(&mine, 1));
      measured_.back_to_back_ns.push_back(*std::max_element(all.begin(), all.end()));
    }
  }

  // A run whose fault waits for a message that is never sent would look as if it had survived it.
  void name_faults_without_effect() {
    const std::vector<InjectedFault> faults = parse_injected_faults(point_.inject);
    if (faults.empty()) return;
    const std::int64_t mine = faults_struck();
    std::int64_t struck = 0;
    for (const std::int64_t each : rendezvous_.gather(std::span(&mine, 1))) struck |= each;
    std::size_t begin = 0;
    for (const InjectedFault& fault : faults) {
      const std::size_t end = std::min(point_.inject.find(',', begin), point_.inject.size());
      if ((struck >> std::min(fault.place, 63) & 1) == 0) {
        measured_.warnings.push_back(fmt::format("the fault {} has struck nothing so far",
                                                 point_.inject.substr(begin, end - begin)));
      }
      begin = end + 1;
    }
  }

  const Case& point_;
  const Sampling& sampling_;
  StoppingRule rule_;
  Communicator& tested_;
  Rendezvous& rendezvous_;
  const UserBuffers& buffers_;
  const NanosecondClock& clock_;
  Collective collective_;
  Elements before_;  // of the vector, on this rank
  Elements after_;
  Groups groups_;       // of the ranks
  std::uint64_t seed_;  // of the group: what leaks from another one shows
  CheckInputs inputs_;
  VisibleBuffers visible_;
  bool checks_each_;  // of the timed iterations
  InjectedLateness late_;
  Measurement measured_;
  std::int64_t wrong_while_timed_ = 0;  // elements of this rank's results
  std::int64_t next_set_ = 0;
  std::int64_t begin_ns_ = monotonic_ns();
  Seconds elapsed_{0};  // since then, when ranks last agreed on it
  Seconds pace_{0};     // of an iteration of the last batch
  int last_batch_ = 0;  // its iterations
};

}  // namespace

std::vector<NamedValue> agreed_values(std::span<const Case> cases, const Sampling& sampling) {
  std::vector<NamedValue> values;
  for (const JsonField<Case>& field : case_fields()) {
    const bool many = field.name == "algorithm" || field.name == "size";
    values.emplace_back(std::string(field.name) + (many ? "s" : ""), values_of(cases, field));
  }
  values.insert(values.end(), {{"iterations", std::to_string(sampling.iterations)},
                               {"warm-up", std::to_string(sampling.warmup)},
                               {"target interval", std::to_string(sampling.target_interval)},
                               {"time per case", to_string(sampling.max_time)},
                               {"check", sampling.check ? "yes" : "no"},
                               {"seed", std::to_string(sampling.seed)}});
  return values;
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Measurement sample(const Case& point, const Sampling& sampling, Communicator& tested,
                   Rendezvous& rendezvous, const UserBuffers& buffers,
                   const NanosecondClock& clock) {
  return Sampler(point, sampling, tested, rendezvous, buffers, clock).run();
}

}  // namespace collbench
