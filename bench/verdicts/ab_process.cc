#include "bench/verdicts/ab_process.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "bench/records/record_file.h"
#include "core/error.h"
#include "transports/world/worker_process.h"

namespace collbench {
namespace {

constexpr Seconds patience{0.05};      // between looks at a stop request
constexpr Seconds farewell{10.0};      // for a process that was asked to end
constexpr int longest_padding = 4096;  // bytes: a page, beyond which the stack's place repeats

/// Whether `word` is the option, as "--name", "--name=value" or "-n" with its value.
bool is_option(const std::string& word, const std::string& name, char letter) {
  const std::string dashed = "--" + name;
  return word == dashed || word.starts_with(dashed + "=") ||
         (letter != 0 && word.size() >= 2 && word[0] == '-' && word[1] == letter);
}

bool has_option(const std::vector<std::string>& arguments, const std::string& name, char letter) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [&](const std::string& word) { return is_option(word, name, letter); });
}

void refuse(const std::vector<std::string>& arguments, const std::string& name, char letter,
            const std::string& why) {
  require(!has_option(arguments, name, letter),
          fmt::format("--{} cannot be among the arguments of the two binaries: {}", name, why));
}

/// The caller's filter, taken out of the arguments; "" if there is none.
std::string take_filter(std::vector<std::string>& arguments) {
  const auto word = std::find_if(arguments.begin(), arguments.end(),
                                 [](const auto& each) { return is_option(each, "filter", 'F'); });
  if (word == arguments.end()) return "";
  std::string filter;
  int words = 1;
  if (word->starts_with("--filter=")) {
    filter = word->substr(word->find('=') + 1);
  } else if (!word->starts_with("--") && word->size() > 2) {
    filter = word->substr(2);
  } else {
    require(word + 1 != arguments.end(), "--filter needs a value");
    filter = *(word + 1);
    words = 2;
  }
  arguments.erase(word, word + words);
  return filter;
}

/// A wrong result and a missed gate are in the records; anything else is no measurement.
bool has_records(const std::string& end) {
  return end == "exited with code 0" || end == "exited with code 1" || end == "exited with code 3";
}

/// The algorithm as a filter takes it: its words are parted by blanks, its alternatives by bars.
std::string filter_algorithm(const Case& point) {
  if (point.algorithm.find_first_of(" |()") == std::string::npos) return point.algorithm;
  return point.algorithm.substr(0, point.algorithm.find(':'));
}

/// The terms of a --filter that keep these cases and, at most, others made of their parts.
std::string filter_of(const std::vector<Case>& points) {
  std::map<std::string, std::set<std::string>> terms;
  for (const Case& point : points) {
    terms["algo"].insert(filter_algorithm(point));
    terms["backend"].insert(point.backend);
    terms["workers"].insert(std::to_string(point.workers));
    terms["bytes"].insert(std::to_string(point.bytes.count));
    terms["type"].insert(std::string(to_string(point.type)));
    terms["op"].insert(std::string(to_string(point.op)));
    terms["place"].insert(point.in_place ? "in" : "out");
  }
  std::vector<std::string> words;
  for (const auto& [key, values] : terms) {
    words.push_back(values.size() == 1 ? fmt::format("{}:{}", key, *values.begin())
                                       : fmt::format("{}:({})", key, fmt::join(values, "|")));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

void keep_asked(RecordFile& file, const AbTask& task) {
  if (task.only.empty()) return;
  std::set<std::string> wanted;
  for (const Case& point : task.only) wanted.insert(to_json(point));
  std::erase_if(file.records,
                [&](const Record& record) { return wanted.count(to_json(record.point)) == 0; });
}

AbProcess::AbProcess(Seconds timeout, std::uint64_t seed,
                     std::function<std::string()> stop_requested)
    : timeout_(timeout),
      stop_requested_(std::move(stop_requested)),
      random_(random_engine(seed, "ab-padding")),
      folder_("collbench-ab") {}

std::optional<std::string> AbProcess::run(const std::string& name,
                                          const std::vector<std::string>& words,
                                          const std::vector<std::string>& variables,
                                          ChildStreams streams) {
  std::vector<std::string> all = variables;
  const int padding = std::uniform_int_distribution<int>(0, longest_padding - 1)(random_);
  all.push_back("AB_PADDING=" + std::string(static_cast<std::size_t>(padding), 'x'));
  ChildProcess child(words, all, streams);
  const auto begin = std::chrono::steady_clock::now();
  while (!child.ended_within(patience)) {
    const bool stop = !stop_requested_().empty();
    const bool hangs = std::chrono::steady_clock::now() - begin > timeout_;
    if (!stop && !hangs) continue;
    child.signal_group(SIGTERM);
    child.ended_within(farewell);
    child.kill();
    if (stop) return std::nullopt;
    throw TransportError(fmt::format("{} did not end within {}", name, to_string(timeout_)));
  }
  return child.ended();
}

AbRunner::AbRunner(AbBinaries binaries, std::function<std::string()> stop_requested)
    : binaries_(std::move(binaries)),
      process_(binaries_.timeout, binaries_.seed, std::move(stop_requested)) {
  refuse(binaries_.arguments, "json", 'J', "ab reads the records itself (--keep DIR keeps them)");
  refuse(binaries_.arguments, "run-cycles", 'N', "ab has --rounds");
}

std::vector<std::string> AbRunner::command(const AbTask& task) const {
  std::vector<std::string> arguments = binaries_.arguments;
  const bool simulates = !arguments.empty() && arguments.front() == "simulate";
  std::string filter = take_filter(arguments);
  if (!task.only.empty()) filter += (filter.empty() ? "" : " ") + filter_of(task.only);
  std::vector<std::string> words = {task.arm == AbArm::head ? binaries_.head : binaries_.base};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (!filter.empty()) words.insert(words.end(), {"--filter", filter});
  if (!simulates && !has_option(arguments, "iters", 'n') && !has_option(arguments, "max-time", 0)) {
    words.insert(words.end(),
                 {"--max-time", fmt::format("{}us", binaries_.case_time.count() * 1e6)});
  }
  words.insert(words.end(), {"--quiet", "--json", process_.path("records.json")});
  return words;
}

std::optional<RecordFile> AbRunner::measure(const AbTask& task) {
  const std::vector<std::string> words = command(task);
  const std::string path = words.back();
  std::filesystem::remove(path);
  const std::string name = fmt::format("{} ({})", to_string(task.arm), words[0]);
  const auto end = process_.run(name, words, {}, only_errors_shown);
  if (!end) return std::nullopt;
  if (!has_records(*end)) {
    throw TransportError(fmt::format("{} {}; it was told: {}", name, *end,
                                     fmt::join(words.begin() + 1, words.end(), " ")));
  }
  require(std::filesystem::exists(path),
          fmt::format("{} wrote no records to --json: it is not collbench. --read says what other "
                      "benchmarks print",
                      name));
  RecordFile file = read_records(path);
  keep_asked(file, task);
  return file;
}

}  // namespace collbench
