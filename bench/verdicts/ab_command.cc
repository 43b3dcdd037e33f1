#include "bench/verdicts/ab_command.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>

#include "bench/records/environment.h"
#include "core/descriptor.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/input_file.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

constexpr double finest_ns = 1e3;  // a whole nanosecond is 0.1 % of it
constexpr int most_calls = 1'000'000;
constexpr std::size_t last_words = 600;
constexpr std::size_t largest_output = std::size_t{64} << 20;

Descriptor opened(const std::string& path) {
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (number < 0) throw FileUnavailable("cannot write '" + path + "'");
  return Descriptor(number);
}

/// The end of what a command said of its failure, on lines of its own.
std::string end_of(const std::string& path) {
  std::string text = read_file(path, largest_output);
  if (text.size() > last_words) text = "..." + text.substr(text.size() - last_words);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? std::string() : ":\n" + printable(text);
}

/// At least 1, for a ratio needs times above zero, and at most what a record holds.
std::int64_t whole_ns(double ns) {
  constexpr double most = 9e18;
  return std::llround(std::clamp(ns, 1.0, most));
}

/// Records have whole nanoseconds: below `finest_ns` a sample is of a thousand calls, or a million.
int calls_for(const std::vector<double>& ns) {
  const double least = *std::min_element(ns.begin(), ns.end());
  int calls = 1;
  while (least * calls < finest_ns && calls < most_calls) calls *= 1000;
  return calls;
}

}  // namespace

AbCommandRunner::AbCommandRunner(AbCommands commands, std::function<std::string()> stop_requested)
    : commands_(std::move(commands)),
      process_(commands_.timeout, commands_.seed, std::move(stop_requested)),
      environment_(collect_environment()) {
  // Those of this collbench, which is not what is measured.
  for (const char* key : {"git_revision", "version", "compiler", "build_flags", "isa"}) {
    environment_.erase(key);
  }
}

RecordFile AbCommandRunner::records_of(const std::vector<NamedTimes>& cases,
                                       const std::string& command) {
  ++processes_;
  RecordFile file;
  file.environment = environment_;
  file.environment["command"] = command;
  for (const NamedTimes& one : cases) {
    // The first process decides for all, or the arms would have different cases.
    const int calls = calls_.try_emplace(one.name, calls_for(one.ns)).first->second;
    Record& record = file.records.emplace_back();
    record.point.algorithm = one.name;
    record.point.calls = calls;
    record.point.workers = 1;
    record.point.bytes = one.bytes;
    record.point.statistic = commands_.read.format->statistic;
    record.algorithm_chosen = record.point.algorithm;
    record.started = now_utc();
    record.measurement.played = fmt::format("process {}", processes_);
    for (const double ns : one.ns) {
      record.measurement.latency_ns.push_back(whole_ns(ns * calls));
    }
  }
  return file;
}

std::optional<RecordFile> AbCommandRunner::measure(const AbTask& task) {
  const std::string& command = task.arm == AbArm::head ? commands_.head : commands_.base;
  const std::string name = fmt::format("{} ({})", to_string(task.arm), command);
  const std::string printed = process_.path("out");
  const std::string written = process_.path("file");
  const std::string said = process_.path("err");
  std::filesystem::remove(written);
  std::optional<std::string> end;
  {
    const Descriptor out = opened(printed);
    const Descriptor err = opened(said);
    end = process_.run(name, {"/bin/sh", "-c", command}, {"AB_OUT=" + written},
                       {.out = out.number(), .err = err.number()});
  }
  if (!end) return std::nullopt;
  if (*end == "exited with code 127" || *end == "exited with code 126") {
    throw FileUnavailable(fmt::format("cannot start {}{}", name, end_of(said)));
  }
  if (*end != "exited with code 0") {
    throw TransportError(fmt::format("{} {}{}", name, *end, end_of(said)));
  }
  const std::string& source = std::filesystem::exists(written) ? written : printed;
  const std::vector<NamedTimes> cases =
      read_named_times(commands_.read, read_file(source, largest_output), "output of " + name);
  const bool is_first = calls_.empty();
  const std::string& any = cases.front().name;
  require(is_first || std::any_of(cases.begin(), cases.end(),
                                  [&](const auto& one) { return calls_.count(one.name) > 0; }),
          fmt::format("output of {}: it has no case that the other side has: '{}', not '{}'", name,
                      any, is_first ? any : calls_.begin()->first));
  RecordFile file = records_of(cases, command);
  keep_asked(file, task);
  return file;
}

}  // namespace collbench
