#include "transports/world/tf_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> job_names = {"chief", "worker", "evaluator", "ps"};
constexpr const char* allowed = "('chief', 'worker', 'evaluator', 'ps', None)";
constexpr int most_tasks = 1 << 20;  // a larger index is a mistake, not a cluster

bool is_job(std::string_view name) {
  return std::find(job_names.begin(), job_names.end(), name) != job_names.end();
}

/// As Python's int() takes it: a number without its fraction, true as 1, a whole number in a
/// string, with blanks around it.
int index_of(const json& value, const std::string& what) {
  std::int64_t index = -1;
  bool read = false;
  if (value.is_number_integer() && !value.is_number_unsigned()) {
    index = value.get<std::int64_t>();
    read = true;
  } else if (value.is_number_unsigned()) {
    index = static_cast<std::int64_t>(
        std::min<std::uint64_t>(value.get<std::uint64_t>(), std::uint64_t{most_tasks} + 1));
    read = true;
  } else if (value.is_number_float()) {
    const double number = std::trunc(value.get<double>());
    index = static_cast<std::int64_t>(std::clamp(number, -1.0, most_tasks + 1.0));
    read = true;
  } else if (value.is_boolean()) {
    index = value.get<bool>() ? 1 : 0;
    read = true;
  } else if (value.is_string()) {
    const auto number = integer_in(trimmed(value.get_ref<const std::string&>()),
                                   std::numeric_limits<std::int64_t>::min());
    index = number.value_or(index);
    read = number.has_value();
  }
  require(read,
          fmt::format("TF_CONFIG: {} must be a whole number, not {}", what, json_text(value)));
  require(index >= 0 && index <= most_tasks,
          fmt::format("TF_CONFIG: {} must be 0 to {}, not {}", what, most_tasks, index));
  return static_cast<int>(index);
}

std::string address_of(const json& value, const std::string& job) {
  require(value.is_string(), fmt::format("TF_CONFIG: the tasks of job '{}' must be strings "
                                         "\"HOST:PORT\"",
                                         job));
  const auto& address = value.get_ref<const std::string&>();
  const std::size_t colon = address.rfind(':');
  require(colon != std::string::npos && colon > 0 &&
              integer_in(std::string_view(address).substr(colon + 1), 1, 65'535),
          fmt::format("TF_CONFIG: Could not parse port for local server from \"{}\". A task of job "
                      "'{}' is HOST:PORT",
                      address, job));
  return address;
}

std::map<int, std::string> tasks_of(const json& value, const std::string& job) {
  std::map<int, std::string> tasks;
  if (value.is_array()) {
    for (const json& task : value) {
      const int index = static_cast<int>(tasks.size());
      tasks.emplace(index, address_of(task, job));
    }
    return tasks;
  }
  require(value.is_object(),
          fmt::format("TF_CONFIG: The tasks for job '{}' must be a list or a dictionary from "
                      "integers to strings.",
                      job));
  for (const auto& [key, task] : value.items()) {
    const int index = index_of(json(key), fmt::format("an index of job '{}'", job));
    require(tasks.emplace(index, address_of(task, job)).second,
            fmt::format("TF_CONFIG: job '{}' has two tasks {}", job, index));
  }
  return tasks;
}

void read_cluster(const json& cluster, TfConfig& config) {
  require(cluster.is_object(), "TF_CONFIG: 'cluster' must be an object from job to tasks");
  for (const auto& [job, tasks] : cluster.items()) {
    require(is_job(job), fmt::format("TF_CONFIG: Disallowed task type found in cluster spec. "
                                     "Allowed types are {} and the cluster spec has '{}'.",
                                     allowed, job));
    config.cluster[job] = tasks_of(tasks, job);
  }
  std::erase_if(config.cluster, [](const auto& job) { return job.second.empty(); });
  std::map<std::string, std::string> seen;  // as written, by what it means
  for (const auto& [job, tasks] : config.cluster) {
    for (const auto& [index, address] : tasks) {
      const bool named = address.starts_with("localhost:");
      const std::string meant = named ? "127.0.0.1" + address.substr(address.rfind(':')) : address;
      const auto [other, added] = seen.emplace(meant, address);
      require(
          added,
          fmt::format(
              "TF_CONFIG: the address '{}' is listed twice{}; every task needs its own", address,
              other->second == address ? "" : fmt::format(", also as '{}'", other->second)));
    }
  }
}

void read_task(const json& document, TfConfig& config) {
  const auto task = document.find("task");
  const bool given = task != document.end() && task->is_object() && task->contains("type") &&
                     task->contains("index");
  require(given,
          "TF_CONFIG: When `cluster_spec` is given, you must also specify `task_type` and "
          "`task_id`.");
  const json& type = (*task)["type"];
  require(type.is_string(), "TF_CONFIG: the type of the task must be a string");
  config.task_type = type.get<std::string>();
  config.task_index = index_of((*task)["index"], "the index of the task");
}

// In the order of TensorFlow's _validate_cluster_spec().
void validate(const TfConfig& config) {
  const std::string& type = config.task_type;
  require(is_job(type), fmt::format("TF_CONFIG: Unrecognized task_type: {}, valid task types are: "
                                    "{}",
                                    type, allowed));
  require(config.cluster.contains(type) || type == "evaluator",
          fmt::format("TF_CONFIG: `task_type` '{}' not found in cluster_spec.", type));
  for (const char* single : {"chief", "evaluator"}) {
    require(config.count(single) <= 1,
            fmt::format("TF_CONFIG: There must be at most one '{}' job.", single));
  }
  if (!config.cluster.contains(type)) return;
  const auto& tasks = config.cluster.at(type);
  require(config.task_index <= tasks.rbegin()->first,
          fmt::format("TF_CONFIG: The `task_id` {} exceeds the maximum id of {}.",
                      config.task_index, type));
  for (const auto& [job, all] : config.cluster) {
    require(all.rbegin()->first + 1 == static_cast<int>(all.size()),
            fmt::format("TF_CONFIG: job '{}' has {} tasks, but one with index {}: indices count "
                        "from 0 without a gap",
                        job, all.size(), all.rbegin()->first));
  }
}

void append(std::vector<std::string>& hosts, const TfConfig& config, const std::string& job) {
  const auto found = config.cluster.find(job);
  if (found == config.cluster.end()) return;
  for (const auto& [index, address] : found->second) hosts.push_back(address);
}

}  // namespace

int TfConfig::count(const std::string& job) const {
  const auto found = cluster.find(job);
  return found == cluster.end() ? 0 : static_cast<int>(found->second.size());
}

TfConfig parse_tf_config(std::string_view text) {
  json document;
  try {
    document = parse_json<json>(text);
  } catch (const json::exception& error) {
    throw InvalidArgument(fmt::format("TF_CONFIG is not JSON: {}", library_reason(error)));
  }
  require(document.is_object(), "TF_CONFIG must be a JSON object");
  TfConfig config;
  const auto rpc = document.find("rpc_layer");
  require(rpc == document.end() || *rpc == "grpc" || *rpc == "",
          "TF_CONFIG: `rpc_layer` can only be \"grpc\"");
  const auto cluster = document.find("cluster");
  if (cluster == document.end() || cluster->is_null()) return config;
  read_cluster(*cluster, config);
  if (config.cluster.empty()) return config;
  read_task(document, config);
  validate(config);
  return config;
}

MirroredPlace mirrored_place(const TfConfig& config) {
  MirroredPlace place;
  place.evaluator = config.task_type == "evaluator";
  if (config.cluster.empty()) return place;
  require(config.task_type != "ps", "TF_CONFIG: Unexpected `task_type` 'ps'");
  require(place.evaluator || config.count("ps") == 0,
          "TF_CONFIG: the cluster has a job 'ps', which mirrored workers never talk to (TensorFlow "
          "would wait for it); remove it, or train with --strategy parameter-server");
  append(place.hosts, config, "chief");
  append(place.hosts, config, "worker");
  if (place.evaluator) return place;
  place.rank = config.task_index + (config.task_type == "worker" ? config.count("chief") : 0);
  return place;
}

ParameterServerPlace parameter_server_place(const TfConfig& config) {
  ParameterServerPlace place;
  place.evaluator = config.task_type == "evaluator";
  if (place.evaluator) return place;
  require(config.count("ps") > 0, "TF_CONFIG: There must be at least one ps.");
  place.workers = config.count("worker");
  require(place.workers > 0, "TF_CONFIG: There must be at least one worker.");
  require(config.count("chief") == 1,
          "TF_CONFIG: There must be a chief: it hands out the steps (TensorFlow's coordinator)");
  append(place.hosts, config, "chief");
  append(place.hosts, config, "worker");
  append(place.hosts, config, "ps");
  place.rank = config.task_index;
  if (config.task_type == "worker") place.rank += 1;
  if (config.task_type == "ps") place.rank += 1 + place.workers;
  return place;
}

}  // namespace collbench
