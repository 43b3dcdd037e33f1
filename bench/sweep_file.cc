#include "bench/sweep_file.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "bench/report.h"
#include "core/error.h"

namespace collbench {
namespace {

/// Where launchers say which part of how many a process is.
struct ShardSource {
  const char* name;
  const char* index;
  const char* count;
  const char* first;  // variable of the smallest index, or null
};
constexpr std::array shard_sources{
    ShardSource{"Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT",
                "SLURM_ARRAY_TASK_MIN"},
    ShardSource{"Kubernetes indexed Job", "JOB_COMPLETION_INDEX", "COLLBENCH_SHARDS", nullptr},
    ShardSource{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", nullptr},
    ShardSource{"PMIx", "PMIX_RANK", "PMIX_SIZE", nullptr},
    ShardSource{"PMI", "PMI_RANK", "PMI_SIZE", nullptr},
    ShardSource{"Slurm", "SLURM_PROCID", "SLURM_NTASKS", nullptr}};

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < 0) return {};
  return number;
}

std::optional<int> variable(const char* name) {
  const char* const value = name == nullptr ? nullptr : std::getenv(name);
  return value == nullptr ? std::nullopt : parse_number(value);
}

/// The first launcher that gives an index and, unless `count` is known, a count.
std::optional<Shard> launched_shard(std::optional<int> count) {
  for (const ShardSource& source : shard_sources) {
    const auto index = variable(source.index);
    const auto of = count ? count : variable(source.count);
    if (!index || !of) continue;
    return Shard{*index - variable(source.first).value_or(0), *of, source.name};
  }
  return {};
}

void check_shard(const std::string& text, const Shard& shard) {
  require(shard.count >= 1 && shard.index >= 0 && shard.index < shard.count,
          fmt::format("--shard '{}': part {} of {} does not exist; parts count from 0", text,
                      shard.index, shard.count));
}

}  // namespace

SweepFile::SweepFile(const std::string& path, const Environment& environment, bool fresh) {
  if (!fresh && std::filesystem::exists(path)) records_ = read_records(path).records;
  const std::string unfinished = path + ".unfinished";
  log_.emplace(unfinished, environment);
  for (const Record& record : records_) {
    log_->append(record);
    cases_.insert(to_json(record.which));
  }
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (error) throw Unavailable(fmt::format("cannot write '{}': {}", path, error.message()));
}

void SweepFile::append(const Record& record) {
  log_->append(record);
  cases_.insert(to_json(record.which));
  records_.push_back(record);
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  if (text == "auto") {
    shard = launched_shard({}).value_or(Shard{});
    check_shard(text, shard);
    return shard;
  }
  const std::size_t slash = text.find('/');
  require(slash != std::string::npos,
          fmt::format("--shard '{}' is not I/N as in 0/4, /N or auto", text));
  const auto count = parse_number(std::string_view(text).substr(slash + 1));
  require(count.has_value(), fmt::format("--shard '{}' is not I/N as in 0/4, /N or auto", text));
  if (slash == 0) {
    const auto launched = launched_shard(count);
    require(launched.has_value(),
            fmt::format("--shard '{}': no launcher says which part this is; write I/N", text));
    shard = *launched;
  } else {
    const auto index = parse_number(std::string_view(text).substr(0, slash));
    require(index.has_value(), fmt::format("--shard '{}' is not I/N as in 0/4", text));
    shard = {*index, *count, "--shard"};
  }
  check_shard(text, shard);
  return shard;
}

std::string shard_path(const std::string& path, const Shard& shard) {
  if (shard.count == 1) return path;
  std::filesystem::path name(path);
  const std::string extension = name.extension().string();
  return name.replace_extension().string() +
         fmt::format(".{}-of-{}{}", shard.index, shard.count, extension);
}

RecordFile merge_records(const std::vector<std::string>& paths) {
  RecordFile merged;
  std::map<std::string, std::pair<std::size_t, std::string>> seen;  // case: its place and file
  for (const std::string& path : paths) {
    RecordFile file = read_records(path);
    for (const auto& [key, value] : file.environment) {
      std::string& kept = merged.environment[key];
      if (kept.empty()) kept = value;
      if (kept != value && kept.find(value) == std::string::npos) kept += "; " + value;
    }
    for (Record& record : file.records) {
      if (record.measurement.exact) {
        const auto [found, is_new] =
            seen.try_emplace(to_json(record.which), merged.records.size(), path);
        if (!is_new) {
          const Exact& before = *merged.records[found->second.first].measurement.exact;
          require(before.time == record.measurement.exact->time,
                  fmt::format("{}: {:.17g} s in '{}' but {:.17g} s in '{}'; simulated times must "
                              "be equal",
                              case_name(record.which), before.time.count(), found->second.second,
                              record.measurement.exact->time.count(), path));
          continue;
        }
      }
      merged.records.push_back(std::move(record));
    }
  }
  return merged;
}

}  // namespace collbench
