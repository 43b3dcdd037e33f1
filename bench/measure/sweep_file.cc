#include "bench/measure/sweep_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "bench/records/report.h"
#include "core/crc32c.h"
#include "core/environment_variable.h"
#include "core/error.h"
#include "core/file_error.h"
#include "core/locked_file.h"
#include "core/parse.h"
#include "core/plain_text.h"
#include "heuristics/calibration/fitted_machine.h"
#include "topologies/draw/draw.h"
#include "topologies/specification.h"
#include "transports/world/launcher_variables.h"

namespace collbench {
namespace {

/// Where launchers say which part of how many a process is; null where they do not.
struct ShardSource {
  const char* name;
  const char* index;
  const char* count;
  const char* first = nullptr;  // variable of the smallest index
  const char* step = nullptr;   // variable of the distance of two indices
};
constexpr std::array shard_sources{
    ShardSource{"Slurm array", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT",
                "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"},
    ShardSource{"Kubernetes indexed Job", kubernetes_variables.index, "COLLBENCH_SHARDS"},
    ShardSource{"Open MPI", open_mpi_variables.index, open_mpi_variables.count},
    ShardSource{"PMIx", pmix_variables.index, "PMIX_SIZE"},
    ShardSource{"PMI", pmi_variables.index, pmi_variables.count},
    ShardSource{"Slurm step", slurm_variables.index, slurm_variables.count}};

std::optional<int> variable(const char* name) {
  return name == nullptr ? std::nullopt : small_integer_in(environment_variable(name));
}

/// The first launcher that gives an index and, unless `count` is known, a count. A known count
/// means that indices are parts as they are: an array may hold only those that are to be repeated.
std::optional<Shard> launched_shard(std::optional<int> count) {
  for (const ShardSource& source : shard_sources) {
    const auto index = variable(source.index);
    if (!index) continue;
    if (count) return Shard{*index, *count, source.name};
    if (const auto of = variable(source.count)) {
      const int step = std::max(variable(source.step).value_or(1), 1);
      return Shard{(*index - variable(source.first).value_or(0)) / step, *of, source.name};
    }
    require(std::string_view(source.index) != "JOB_COMPLETION_INDEX",
            "this is a pod of an indexed Job of Kubernetes, which does not say how many there are: "
            "give --shard /N with N the completions of the Job, or 0/1 for the whole sweep");
  }
  return {};
}

constexpr const char* machine_prefix = "machine ";

/// Throws InvalidArgument if a machine of `more` is another one in `all`, of files read before.
void require_same_machines(const Environment& more, const Environment& all,
                           const std::string& path) {
  for (const auto& [key, value] : more) {
    if (!key.starts_with(machine_prefix)) continue;
    const auto before = all.find(key);
    require(before == all.end() || before->second == value,
            fmt::format("{} of '{}' is another than that of the files before it: it was changed "
                        "between the sweeps; repeat the older one",
                        key, path));
  }
}

/// Orders records by ranks, machine and size if all are simulated: measured ones keep the order of
/// measuring, which matters.
void order_simulated(std::vector<Record>& records) {
  const auto is_simulated = [](const Record& r) { return r.measurement.exact.has_value(); };
  if (!std::all_of(records.begin(), records.end(), is_simulated)) return;
  const auto key = [](const Record& r) {
    return std::tuple(r.point.workers, std::string_view(r.point.simulated.topology),
                      r.point.bytes.count, std::string_view(r.point.algorithm));
  };
  std::sort(records.begin(), records.end(), [&](const Record& a, const Record& b) {
    if (key(a) != key(b)) return key(a) < key(b);
    return to_json(a.point) < to_json(b.point);
  });
}

/// A file that is named twice has no more records.
std::vector<std::string> each_once(const std::vector<std::string>& paths,
                                   std::vector<std::string>& notes) {
  std::vector<std::string> once;
  std::set<std::filesystem::path> known;
  for (const std::string& path : paths) {
    std::error_code unseen;
    const auto real = std::filesystem::weakly_canonical(path, unseen);
    if (std::filesystem::is_regular_file(path, unseen) && !known.insert(real).second) {
      notes.push_back(fmt::format("'{}' is given twice: read once", path));
    } else {
      once.push_back(path);
    }
  }
  return once;
}

constexpr std::string_view sweep_key_begin = "sweep ";
constexpr int most_parts_named = 10'000;
constexpr std::string_view parts_in_key = ", parts of ";

/// Says which parts are not there of the sweeps of which the environment names some. Those that are
/// whole are named no longer.
void note_missing_parts(Environment& environment, std::vector<std::string>& notes) {
  std::erase_if(environment, [&](const auto& entry) {
    const std::string_view key = entry.first;
    const std::size_t of = key.find(parts_in_key);
    if (!key.starts_with(sweep_key_begin) || of == key.npos) return false;
    const int count = small_integer_in(key.substr(of + parts_in_key.size())).value_or(0);
    if (count > most_parts_named) return false;
    const std::string there = "; " + entry.second + "; ";  // as add_environment() joins them
    std::vector<int> missing;
    for (int part = 0; part < count; ++part) {
      if (there.find(fmt::format("; {}; ", part)) == there.npos) missing.push_back(part);
    }
    if (missing.empty()) return true;
    notes.push_back(
        fmt::format("part {} of a sweep in {} is not among the files: cases are missing",
                    fmt::join(missing, ", "), count));
    return false;
  });
}

}  // namespace

std::string machine_key(const std::string& name) { return machine_prefix + name; }

std::string checksum_of_machine(const std::string& name) {
  const auto described = [&name] {
    try {
      return machine(name);
    } catch (const InvalidArgument&) {
      return machine(name, 2);  // a name without a size
    }
  };
  std::uint32_t sum = checksum_of(described());
  if (const auto fitted = calibration_of(name)) sum ^= crc32c(to_toml(*fitted, "", ""));
  return fmt::format("crc32c {:08x}", sum);
}

void SweepFile::take_up(const std::string& path, Environment& environment) {
  RecordFile file = read_records(path);
  const auto has_changed = [&](const std::string& name) {
    const auto before = file.environment.find(machine_key(name));
    const auto now = environment.find(machine_key(name));
    return before != file.environment.end() && now != environment.end() &&
           before->second != now->second;
  };
  for (Record& record : file.records) {
    const std::string& name = record.point.simulated.topology;
    require(!name.empty(),
            fmt::format("'{}' has records of a run, not of a sweep; name another --output", path));
    if (has_changed(name)) {
      changed_machines_.insert(name);
    } else {
      records_.push_back(std::move(record));
    }
  }
  for (const auto& [key, value] : file.environment) {
    if (key.starts_with(machine_prefix)) environment.emplace(key, value);
  }
}

SweepFile::SweepFile(const std::string& path, const Environment& environment, bool fresh) {
  const Descriptor before =
      locked_file(path, "another --output");  // of the file that is replaced, until it is
  Environment known = environment;
  if (!fresh && std::filesystem::file_size(path) > 0) take_up(path, known);
  const std::string unfinished = path + ".unfinished";
  log_.emplace(unfinished, known);
  lock_ = locked_file(unfinished, "another --output");
  for (const Record& record : records_) {
    log_->append(record);
    cases_.insert(to_json(record.point));
  }
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (error) throw FileUnavailable(fmt::format("cannot write '{}': {}", path, error.message()));
}

void SweepFile::append(const Record& record) {
  log_->append(record);
  cases_.insert(to_json(record.point));
  records_.push_back(record);
}

Shard parse_shard(const std::string& text) {
  Shard shard;
  if (text == "auto") {
    shard = launched_shard({}).value_or(Shard{});
  } else {
    const std::size_t slash = std::min(text.find('/'), text.size());
    const auto index = small_integer_in(std::string_view(text).substr(0, slash));
    const auto count =
        small_integer_in(std::string_view(text).substr(std::min(slash + 1, text.size())));
    require(count && (index || slash == 0),
            fmt::format("--shard '{}' is not I/N as in 0/4, /N or auto", text));
    const std::optional<Shard> launched =
        index ? Shard{*index, *count, "--shard"} : launched_shard(count);
    require(launched.has_value(),
            fmt::format("--shard '{}': no launcher says which part this is; write I/N", text));
    shard = *launched;
  }
  require(shard.count >= 1 && shard.index >= 0 && shard.index < shard.count,
          fmt::format("--shard '{}': part {} of {} does not exist; parts count from 0", text,
                      shard.index, shard.count));
  return shard;
}

std::string shard_path(const std::string& path, const Shard& shard) {
  if (shard.count == 1) return path;
  std::filesystem::path name(path);
  const std::string extension = name.extension().string();
  return name.replace_extension().string() +
         fmt::format(".{}-of-{}{}", shard.index, shard.count, extension);
}

std::string part_key(const Shard& shard, const std::vector<Case>& all) {
  std::string text;
  for (const Case& point : all) text += to_json(point) + '\n';
  return fmt::format("{}{:08x}{}{}", sweep_key_begin, crc32c(text), parts_in_key, shard.count);
}

RecordFile merge_records(const std::vector<std::string>& paths, std::vector<std::string>& notes) {
  RecordFile merged;
  std::map<std::string, std::pair<std::size_t, std::string>> seen;  // case: its place and file
  std::set<std::string> measured;
  std::int64_t again = 0;
  for (const std::string& path : each_once(paths, notes)) {
    RecordFile file = read_records(path);
    require_same_machines(file.environment, merged.environment, path);
    add_environment(file.environment, merged.environment);
    for (Record& record : file.records) {
      if (record.measurement.exact) {
        const auto [found, is_new] =
            seen.try_emplace(to_json(record.point), merged.records.size(), path);
        if (!is_new) {
          const Exact& before = *merged.records[found->second.first].measurement.exact;
          require(before.time == record.measurement.exact->time,
                  fmt::format("{}: {:.17g} s in '{}' but {:.17g} s in '{}'; simulated times must "
                              "be equal",
                              case_name(record.point), before.time.count(), found->second.second,
                              record.measurement.exact->time.count(), path));
          continue;
        }
      } else if (!record.started.empty() && !measured.insert(to_json(record)).second) {
        ++again;
        continue;
      }
      merged.records.push_back(std::move(record));
    }
  }
  if (again > 0) {
    notes.push_back(fmt::format("{} came twice, equal to the last sample: each is kept once",
                                counted(again, "measured record")));
  }
  note_missing_parts(merged.environment, notes);
  order_simulated(merged.records);
  return merged;
}

}  // namespace collbench
