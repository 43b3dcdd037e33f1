#include "heuristics/policies/choose.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "core/plain_text.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

MeasuredTime time_of(std::string line) {
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream fields(line);
  MeasuredTime time;
  std::string cores;
  double median = 0;  // microseconds, as the quartiles
  double low = 0;
  double high = 0;
  fields >> time.library >> cores >> time.scale.ranks >> time.bytes.count >> time.algorithm >>
      median >> low >> high >> time.samples;
  require(!fields.fail(), fmt::format("local_times.csv: '{}' lacks a field", line));
  time.system = cores + " cores";
  time.scale.nodes = 1;
  time.low = Seconds{low * 1e-6};
  time.high = Seconds{high * 1e-6};
  time.time = (time.low + Seconds{2 * median * 1e-6} + time.high) / 4;
  time.in_place = true;
  return time;
}

std::vector<MeasuredTime> read_times() {
  std::vector<MeasuredTime> times;
  std::istringstream lines{std::string(local_times_files().front().text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != '#') times.push_back(time_of(line));
  }
  return times;
}

using namespace literals;

// Times of one processor order algorithms on another no finer than this.
constexpr double close = 1.6;
constexpr std::size_t most_rivals = 5;

Choice by_messages(int workers, Bytes bytes, int cores) {
  // Two workers send the same bytes either way; one-shot saves a hop and adds the vector twice.
  if (workers <= 2 && bytes <= 256_KiB) {
    return {"one-shot", "up to 256 KiB between two workers one hop is cheaper than two"};
  }
  if (workers <= cores && bytes <= 32_KiB) {
    return {"one-shot", fmt::format("up to 32 KiB on {} cores for {} workers the second hop of "
                                    "direct costs more than the bytes it saves",
                                    cores, workers)};
  }
  if (workers > cores && workers > 2 && bytes <= 64_KiB) {
    return {"reduce-broadcast",
            fmt::format("{} workers on {} cores and at most 64 KiB: each message costs CPU time, "
                        "and this sends {} instead of {}",
                        workers, cores, 2 * (workers - 1), 2 * workers * (workers - 1))};
  }
  return {"direct", "large vectors: as few bytes as the ring, in 2 hops instead of 2(N-1)"};
}

/// Those of `names` but the choice that leave replicas equal.
std::vector<std::string> rivals_among(std::initializer_list<std::string_view> names,
                                      const std::string& chosen) {
  std::vector<std::string> rivals;
  for (const std::string_view name : names) {
    if (name != chosen && refusal({}, name).empty()) rivals.emplace_back(name);
  }
  return rivals;
}

Choice choose_for_messages(int workers, Bytes bytes, int cores) {
  Choice choice = by_messages(workers, bytes, cores);
  // Few messages count for small vectors, few bytes for large ones.
  choice.rivals =
      bytes <= 256_KiB
          ? rivals_among({"one-shot", "recursive-doubling", "reduce-broadcast", "hierarchical-copy",
                          "direct"},
                         choice.algorithm)
          : rivals_among({"direct", "halving-doubling", "hierarchical", "ring", "reduce-broadcast"},
                         choice.algorithm);
  return choice;
}

/// For what is no all-reduce, of which no times are built in: one hop where ranks read each other's
/// memory, else few messages for small vectors and few bytes for large ones.
Choice choose_other(ChoiceKind kind, int workers, Bytes bytes, CollectiveKind collective) {
  const bool reads_peers = kind != ChoiceKind::messages;
  if (has_root(collective)) {
    constexpr auto near = "reduce-broadcast";
    if (reads_peers || workers <= 3) {
      return {near, "one hop between the root and every other", {"binomial", "tree"}};
    }
    if (bytes <= 64_KiB) return {"binomial", "few hops for small vectors", {near, "tree"}};
    return {"tree", "segments that follow each other keep all ranks busy", {"binomial", near}};
  }
  return {"direct", "one hop, and as few bytes as any", {"circulant", "ring"}};
}

/// The algorithms measured close to the choice.
std::vector<std::string> rivals_of(const Answer& answer) {
  const auto chosen =
      std::find_if(answer.candidates.begin(), answer.candidates.end(),
                   [&](const Candidate& c) { return c.algorithm == answer.algorithm; });
  std::vector<std::string> rivals;
  for (const Candidate& candidate : answer.candidates) {
    const bool taken = candidate.algorithm == answer.algorithm || !candidate.refused.empty();
    if (taken || *candidate.time > *chosen->time * close) continue;
    if (rivals.size() < most_rivals) rivals.push_back(candidate.algorithm);
  }
  return rivals;
}

bool is_measured(const Question& question) {
  return std::any_of(
      question.measured.begin(), question.measured.end(),
      [&](const MeasuredTime& row) { return is_measured_at(row, question, question.workers); });
}

std::string not_measured(const Question& question) {
  return fmt::format("{} workers on {} were not measured", question.workers, place_text(question));
}

/// By the built-in times, if they have so many workers on so many cores.
std::optional<Answer> ask_built_in(Question question) {
  const std::vector<MeasuredTime> times = local_times(question.backend, question.cores);
  question.measured = times;
  return is_measured(question) ? std::optional(ask_measured(question)) : std::nullopt;
}

}  // namespace

Choice choose(std::string_view backend, ChoiceKind kind, int workers, Bytes bytes, DataType type,
              ReduceOp op, int cores, CollectiveKind collective) {
  if (collective != CollectiveKind::all_reduce && kind != ChoiceKind::own) {
    return choose_other(kind, workers, bytes, collective);
  }
  Question question;
  question.bytes = bytes;
  question.type = type;
  question.op = op;
  question.workers = workers;
  question.backend = backend;
  question.cores = cores;
  if (const auto answer = workers > 1 ? ask_built_in(question) : std::nullopt) {
    return {answer->algorithm,
            fmt::format("{}; {} workers on {} cores, by the built-in measurements", answer->reason,
                        workers, cores),
            rivals_of(*answer)};
  }
  switch (kind) {
    case ChoiceKind::shared_memory:
      return {"direct", "shared memory: one pass over all buffers moves the fewest bytes",
              rivals_among({"reduce-broadcast", "one-shot", "halving-doubling", "ring"}, "direct")};
    case ChoiceKind::gpu_memory:
      return {"direct",
              "GPU memory: one pass over all buffers moves the fewest bytes (not measured)"};
    case ChoiceKind::messages:
      return choose_for_messages(workers, bytes, cores);
    case ChoiceKind::own:
      break;
  }
  return {std::string(backend), fmt::format("{} chooses its algorithm itself", backend)};
}

Answer ask_auto(const Question& question) {
  const bool sees_counts = question.machine != nullptr && !question.counts.empty();
  if (is_measured(question) && !sees_counts) return ask_measured(question);
  if (question.machine != nullptr) {
    Answer answer = ask_model(question);
    answer.reason = "predicted: " + answer.reason;
    if (!question.measured.empty()) {
      answer.warnings.push_back(
          sees_counts ? "measured times are of equal shares; the choice is by the model"
                      : fmt::format("{}; the choice is by the model", not_measured(question)));
    }
    return answer;
  }
  std::vector<std::string> warnings;
  if (!question.measured.empty()) {
    warnings.push_back(not_measured(question) + "; the tables do not count");
  }
  if (auto answer = ask_built_in(question)) {
    answer->warnings.insert(answer->warnings.end(), warnings.begin(), warnings.end());
    if (!warnings.empty()) answer->warnings.back() += ", but the times built in";
    return *std::move(answer);
  }
  require(!question.backend.empty(),
          question.measured.empty()
              ? "the network is unknown: name a machine (--topo), measurements (--measured) or "
                "a back end of this host (--backend)"
              : not_measured(question) +
                    "; name a machine (--topo), or take the times of the "
                    "nearest number of workers (--policy measured)");
  const Choice choice = choose(
      question.backend, question.kind, question.workers, question.bytes, question.type, question.op,
      question.cores > 0 ? question.cores : question.workers, question.collective);
  const std::string refused = refusal(question, choice.algorithm);
  require(refused.empty(),
          fmt::format("the rule chooses {}, which is refused: {}", choice.algorithm, refused));
  Answer answer{choice.algorithm,
                "",
                choice.reason,
                {{choice.algorithm, "", {}, "", ""}},
                std::move(warnings)};
  answer.warnings.emplace_back(
      "a rule of thumb: this many workers on this many cores are not measured");
  warn_of_counts(question, answer);
  return answer;
}

std::vector<MeasuredTime> local_times(std::string_view backend, int cores) {
  static const std::vector<MeasuredTime> all = read_times();
  const std::string system = fmt::format("{} cores", cores);
  std::vector<MeasuredTime> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [&](const MeasuredTime& time) {
    return time.library == backend && time.system == system;
  });
  return found;
}

}  // namespace collbench
