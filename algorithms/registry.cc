#include "algorithms/registry.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/allreduce.h"
#include "algorithms/exchange/schedule_file.h"
#include "algorithms/halves.h"
#include "algorithms/options.h"
#include "algorithms/registry_rows.h"
#include "algorithms/synthesised.h"
#include "core/error.h"
#include "core/suggest.h"

namespace collbench {
namespace {

constexpr Bytes most_in_one_shot{504};

const std::vector<AlgorithmInfo>& table() {
  static const std::vector<AlgorithmInfo> rows = registry_rows();
  return rows;
}

}  // namespace

std::span<const AlgorithmInfo> algorithms() { return table(); }

const AlgorithmInfo& find_algorithm(std::string_view name) {
  if (name == schedule_file().name) return schedule_file();
  if (name == synthesised_row().name) return synthesised_row();
  std::vector<std::string> names;
  for (const AlgorithmInfo& row : table()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  throw InvalidArgument("unknown algorithm '" + std::string(name) + "'." +
                        did_you_mean(name, names) + " See: collbench algos");
}

bool AlgorithmInfo::implements(CollectiveKind kind) const {
  if (kind == CollectiveKind::all_reduce) return true;
  return has_root(kind) ? make_rooted != nullptr : has_shares;
}

bool is_replica_consistent(const AlgorithmSpec& spec) {
  const AlgorithmInfo& row = find_algorithm(spec.name);
  if (row.name == schedule_file().name) return is_schedule_file_consistent(spec);
  return row.replica_consistent &&
         (row.inconsistent_option.empty() || !flag_option(spec, row.inconsistent_option));
}

namespace {

// The row of a spec that fits it.
const AlgorithmInfo& row_for(const AlgorithmSpec& spec, int ranks) {
  const AlgorithmInfo& row = find_algorithm(spec.name);
  require(ranks >= 1, spec.name + ": ranks must be at least 1, not " + std::to_string(ranks));
  std::vector<std::string> known;
  for (const AlgorithmOption& option : row.options) known.emplace_back(option.name);
  for (const auto& [key, value] : spec.options) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw InvalidArgument(fmt::format(
        "{}: unknown option '{}'.{} It has {}", spec.name, key, did_you_mean(key, known),
        known.empty() ? "no options" : fmt::format("the options {}", fmt::join(known, ", "))));
  }
  return row;
}

}  // namespace

Schedule make_schedule(const AlgorithmSpec& spec, int ranks) {
  return row_for(spec, ranks).make(ranks, spec);
}

Schedule make_schedule(std::string_view spec, int ranks) {
  return make_schedule(parse_algorithm_spec(spec), ranks);
}

Schedule make_schedule(const AlgorithmSpec& spec, int ranks, Bytes bytes) {
  if (spec.name == synthesised_row().name) {
    row_for(spec, ranks);  // refuses unknown options
    return synthesised(spec, ranks, bytes, CollectiveKind::all_reduce).schedule;
  }
  Schedule schedule = make_schedule(spec, ranks);
  const bool in_one_shot = spec.name == "direct" && bytes.count <= most_in_one_shot.count;
  return in_one_shot ? one_shot(ranks) : schedule;
}

Schedule make_schedule(std::string_view spec, int ranks, Bytes bytes) {
  return make_schedule(parse_algorithm_spec(spec), ranks, bytes);
}

Schedule make_schedule(const AlgorithmSpec& spec, int ranks, Bytes bytes,
                       const Collective& collective) {
  if (collective.kind == CollectiveKind::all_reduce) return make_schedule(spec, ranks, bytes);
  const AlgorithmInfo& row = row_for(spec, ranks);
  if (row.name == synthesised_row().name) {
    return cut_into_counts(synthesised(spec, ranks, bytes, collective.kind).schedule, collective);
  }
  if (row.name == schedule_file().name) {
    return cut_into_counts(schedule_from_file(spec, ranks, collective.kind), collective);
  }
  if (!row.implements(collective.kind)) {
    std::vector<std::string_view> able;
    for (const AlgorithmInfo& info : algorithms()) {
      if (info.implements(collective.kind)) able.push_back(info.name);
    }
    throw InvalidArgument(fmt::format("{} has no {}; those that have one: {}", row.name,
                                      to_string(collective.kind), fmt::join(able, ", ")));
  }
  if (!has_root(collective.kind)) {
    const Schedule whole = row.make(ranks, spec);
    return cut_into_counts(collective.kind == CollectiveKind::reduce_scatter
                               ? reduce_scatter_half(whole)
                               : all_gather_half(whole),
                           collective);
  }
  require(collective.root >= 0 && collective.root < ranks,
          fmt::format("the root of a {} must be 0 to {}, not {}", to_string(collective.kind),
                      ranks - 1, collective.root));
  require(spec.options.count("root") == 0,
          fmt::format("{}: option root is of its all-reduce; that of a {} is its own (--root)",
                      row.name, to_string(collective.kind)));
  const RootedPhases phases = row.make_rooted(ranks, spec, collective.root);
  return collective.kind == CollectiveKind::reduce ? phases.reduce : phases.broadcast;
}

}  // namespace collbench
