// `collbench algos`: what the algorithms are, what they do step by step, and the proof that they
// work.
#include <chrono>
#include <iostream>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/exchange/goal.h"
#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/exchange/mscclpp_plan.h"
#include "algorithms/registry.h"
#include "algorithms/schedule_table.h"
#include "algorithms/verify.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "cli/run_options.h"
#include "core/error.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

constexpr int goal_element_bytes = 4;

std::vector<std::string_view> other_collectives_of(const AlgorithmInfo& info) {
  std::vector<std::string_view> others;
  for (const std::string_view name : collective_names()) {
    const CollectiveKind kind = parse_collective(name);
    if (kind != CollectiveKind::all_reduce && info.implements(kind)) others.push_back(name);
  }
  return others;
}

int list_algorithms(const Settings& /*settings*/) {
  std::size_t width = 0;
  for (const AlgorithmInfo& info : algorithms()) width = std::max(width, info.name.size());
  for (const AlgorithmInfo& info : algorithms()) {
    std::cout << fmt::format("{:<{}}  {}\n", info.name, width, info.summary);
    std::cout << fmt::format("{:<{}}    ranks: {}; cost: {}{}\n", "", width, info.constraints,
                             info.cost, info.replica_consistent ? "" : "; replicas may differ");
    const std::vector<std::string_view> others = other_collectives_of(info);
    if (!others.empty()) {
      std::cout << fmt::format("{:<{}}    also: {}\n", "", width, fmt::join(others, ", "));
    }
  }
  std::cout << fmt::format("{:<{}}  chosen by back end, workers and size; the run says why\n",
                           "auto", width);
  std::vector<std::string> libraries;
  for (const Backend& backend : backends()) {
    if (backend.has_library) libraries.push_back(backend.name);
  }
  std::cout << fmt::format("{:<{}}  black boxes, measured beside ours where they are installed\n",
                           fmt::format("{}", fmt::join(libraries, ", ")), width);
  return exit_ok;
}

void print_description(const AlgorithmInfo& info, const AlgorithmSpec& spec,
                       const Schedule& schedule, const Collective& collective) {
  const std::int64_t elements =
      std::accumulate(collective.counts.begin(), collective.counts.end(), std::int64_t{0});
  const ScheduleCost cost = count_cost(schedule, elements);
  const auto whole = static_cast<double>(elements > 0 ? elements : schedule.chunks());
  std::cout << fmt::format("{}: {}\n", info.name, info.summary);
  std::cout << fmt::format("ranks    {} (here {})\n", info.constraints, schedule.ranks());
  for (const AlgorithmOption& option : info.options) {
    std::cout << fmt::format("option   {}{}{}: {}\n", option.name,
                             option.default_value.empty() ? "" : "=", option.default_value,
                             option.help);
  }
  std::cout << fmt::format("cost     {}\n", info.cost);
  std::cout << fmt::format(
      "here     {} rounds, {} chunks; at most {:.4g} M sent, {:.4g} M reduced, {} messages per "
      "rank\n",
      cost.rounds, schedule.chunks(), static_cast<double>(cost.max_sent) / whole,
      static_cast<double>(cost.max_reduced) / whole, cost.max_messages);
  if (collective.kind == CollectiveKind::all_reduce) {
    std::cout << fmt::format("replicas {}\n", is_replica_consistent(spec)
                                                  ? "end bitwise equal"
                                                  : "may differ in last bits");
  }
  std::cout << fmt::format("source   {}\n", info.source);
}

std::string markdown_cell(const Round& round) {
  std::string cell;
  for (const Op& op : round.ops()) {
    const std::string_view verb =
        op.kind == OpKind::send ? "send" : (op.kind == OpKind::recv ? "recv" : "add");
    const int last = op.chunks.first + op.chunks.count - 1;
    const std::string chunks = op.chunks.count == 1 ? std::to_string(op.chunks.first)
                                                    : fmt::format("{}-{}", op.chunks.first, last);
    cell += fmt::format("{}{} {} {} {}", cell.empty() ? "" : "<br>", verb, chunks,
                        op.kind == OpKind::send ? "to" : "from", op.peer);
  }
  return cell;
}

/// The schedule as a Markdown table: one row per rank, one column per round.
void print_markdown(const Schedule& schedule) {
  std::string heading = "| rank |";
  std::string rule = "|---|";
  for (int t = 0; t < schedule.rounds(); ++t) {
    heading += fmt::format(" round {} |", t);
    rule += "---|";
  }
  std::cout << heading << '\n' << rule << '\n';
  Round round;
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    std::cout << fmt::format("| {} |", rank);
    for (int t = 0; t < schedule.rounds(); ++t) {
      schedule.round(rank, t, round);
      std::cout << ' ' << markdown_cell(round) << " |";
    }
    std::cout << '\n';
  }
}

void print_msccl(const Schedule& schedule, CollectiveKind kind) {
  std::cout << to_msccl_xml(schedule, kind);
  const MscclSize size = msccl_size(schedule);
  if (size.fits()) return;
  std::cerr << fmt::format("collbench: warning: --format msccl: {}\n", to_string(size));
}

int show_algorithm(const Settings& settings) {
  const std::string& format =
      settings.one_of("format", {"table", "msccl", "mscclpp", "goal", "markdown"});
  const std::string& counts = settings.text("counts");
  const int ranks = counts.empty() || settings.given("workers")
                        ? settings.count("workers", 1, 65'536)
                        : static_cast<int>(split_at(counts, ',').size());
  const AlgorithmSpec spec = parse_algorithm_spec(settings.text("NAME"));
  const AlgorithmInfo& info = find_algorithm(spec.name);
  const Collective collective = with_counts(rooted_asked(settings), counts, ranks);
  const bool all_reduce = collective.kind == CollectiveKind::all_reduce;
  require(counts.empty() || (format.find("msccl") != 0 && !settings.given("bytes")),
          fmt::format("{}: MSCCL's formats have equal chunks, and the shares say the size",
                      settings.label("counts")));
  const Schedule schedule =
      all_reduce ? make_schedule(spec, ranks) : make_schedule(spec, ranks, Bytes{0}, collective);
  if (format == "msccl") print_msccl(schedule, collective.kind);
  if (format == "mscclpp") {
    std::cout << to_mscclpp_json(schedule, collective.kind, [](Rank, Rank) { return true; });
  }
  if (format == "goal") {
    const Bytes size =
        counts.empty() ? settings.size("bytes") : Bytes{sum_of_counts(counts) * goal_element_bytes};
    std::cout << to_goal(schedule, size, goal_element_bytes);
  }
  if (format == "markdown") print_markdown(schedule);
  if (format != "table") return exit_ok;
  print_description(info, spec, schedule, collective);
  std::cout << "\n3>1 sends chunk 3 to rank 1, 3<1 stores it from there, 3+1 adds it\n"
            << to_table(schedule);
  return exit_ok;
}

/// How one algorithm fared over a range of worker counts.
struct Proof {
  int proven = 0;
  int unfit = 0;          // worker counts that it does not allow
  std::string violation;  // the first, in words
};

Proof prove(const AlgorithmSpec& spec, const std::vector<int>& counts, CollectiveKind kind) {
  const bool all_reduce = kind == CollectiveKind::all_reduce;
  const bool consistent = all_reduce && is_replica_consistent(spec);
  Proof proof;
  for (const int ranks : counts) {
    try {
      const Schedule schedule =
          all_reduce ? make_schedule(spec, ranks) : make_schedule(spec, ranks, Bytes{0}, {kind});
      const Verification result = verify(schedule, {kind});
      if (!result.ok()) {
        proof.violation = fmt::format("{} ranks: {}", ranks, result.violations.front().what);
        return proof;
      }
      if (consistent && !result.replica_consistent) {
        proof.violation = fmt::format("{} ranks: replicas end with different sums", ranks);
        return proof;
      }
      ++proof.proven;
    } catch (const InvalidArgument&) {
      ++proof.unfit;
    }
  }
  return proof;
}

int verify_algorithms(const Settings& settings) {
  const std::string& name = settings.text("NAME");
  const std::vector<int> counts = settings.worker_counts("workers");
  const CollectiveKind kind = collective_asked(settings);
  std::vector<AlgorithmSpec> specs;
  if (name.empty()) {
    for (const AlgorithmInfo& info : algorithms()) {
      if (info.implements(kind)) specs.push_back({std::string(info.name), {}});
    }
  } else {
    specs.push_back(parse_algorithm_spec(name));
  }
  const auto begin = std::chrono::steady_clock::now();
  int wrong = 0;
  for (const AlgorithmSpec& spec : specs) {
    const AlgorithmInfo& info = find_algorithm(spec.name);
    const Proof proof = prove(spec, counts, kind);
    if (proof.proven == 0 && proof.violation.empty())
      make_schedule(spec, counts.front(), Bytes{0}, {kind});
    if (!proof.violation.empty()) ++wrong;
    std::cout << fmt::format(
        "{:<20} {}\n", to_string(spec),
        proof.violation.empty()
            ? fmt::format("proven for {}{}{}", counted(proof.proven, "worker count"),
                          proof.unfit > 0 ? fmt::format(", {} {} not fit", proof.unfit,
                                                        proof.unfit == 1 ? "does" : "do")
                                          : "",
                          kind == CollectiveKind::all_reduce && info.replica_consistent
                              ? "; replicas bitwise equal"
                              : "")
            : "WRONG: " + proof.violation);
  }
  const Seconds elapsed = std::chrono::steady_clock::now() - begin;
  std::cout << fmt::format("# {}, {} wrong, {:.2f} s\n", counted(std::ssize(specs), "algorithm"),
                           wrong, elapsed.count());
  if (wrong > 0) {
    throw WrongResult(fmt::format("{} {} no {}", counted(wrong, "algorithm"),
                                  wrong == 1 ? "is" : "are", to_string(kind)));
  }
  return exit_ok;
}

constexpr OptionRow show_algorithm_rows[] = {
    {arguments_group, "NAME", "", "NAME", "", "the algorithm, with options as in ring:segments=2",
     Presence::required},
    {options_group, "workers", "W", "N", "4", "number of workers"},
    {options_group, "collective", "", "NAME", "all-reduce",
     "reduce-scatter, all-gather, broadcast or reduce"},
    {options_group, "root", "r", "N", "0", "root rank of a broadcast or reduce"},
    {options_group, "counts", "", "N,..", "",
     "elements of each rank's share of a reduce-scatter or all-gather: 1M,2M,0,4K"},
    {options_group, "format", "", "NAME", "table",
     "table, msccl, mscclpp (GPUs of one node), goal or markdown"},
    {options_group, "bytes", "", "SIZE", "1M", "goal: size of the vector"},
};

constexpr OptionRow verify_rows[] = {
    {arguments_group, "NAME", "", "NAME", "", "one algorithm; all by default"},
    {options_group, "workers", "W", "N[,..]", "1:64", "numbers of workers to prove it for"},
    {options_group, "collective", "", "NAME", "all-reduce", "collective to prove"},
};

}  // namespace

void add_algos(CLI::App& app, Action& action) {
  CLI::App& algos =
      add_command(app, "algos", "list, show and prove the algorithms", {}, action, list_algorithms);
  add_command(algos, "list", "name, constraints and cost of each", {}, action, list_algorithms);
  add_command(algos, "show", "what every rank does in every round", show_algorithm_rows, action,
              show_algorithm);
  add_command(algos, "verify", "prove that they compute their collective", verify_rows, action,
              verify_algorithms);
  add_command(algos, "order", "show the order of additions, or find it from results", order_rows(),
              action, show_orders);
}

}  // namespace collbench
