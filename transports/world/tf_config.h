// TF_CONFIG: the JSON that gives TensorFlow's workers their tasks and the addresses of the cluster.
//
//   {"cluster": {"chief": ["a:7100"], "worker": ["b:7100", "c:7100"], "ps": [...]},
//    "task": {"type": "worker", "index": 1}}
//
// TensorFlow's rules hold, with its error messages where it has them. Also refused, because
// TensorFlow then waits for an hour or fails obscurely, are an address without a port, one that is
// listed twice, a negative index, a gap in the indices of a job, and a job `ps` among mirrored
// workers. The evaluator is not part of the cluster.
// Source: tensorflow/python/distribute, tfconfig_cluster_resolver.py and multi_worker_util.py.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// What the text says. Addresses are HOST:PORT by job and index; a sparse job (an object from index
/// to address) keeps its indices.
struct TfConfig {
  std::map<std::string, std::map<int, std::string>> cluster;  // empty: no cluster, a single worker
  std::string task_type;  // "chief", "worker", "ps", "evaluator"; "" without a cluster
  int task_index = 0;

  int count(const std::string& job) const;
};

/// Reads and checks the text. Throws InvalidArgument.
TfConfig parse_tf_config(std::string_view text);

/// The place of a task among those that train together: the chief first, then the workers.
struct MirroredPlace {
  int rank = 0;                    // TensorFlow's id_in_cluster
  std::vector<std::string> hosts;  // by rank; empty: no cluster, a single worker
  bool evaluator = false;          // outside the cluster, without a rank: it follows checkpoints
};

/// For multi-worker-mirrored. Throws InvalidArgument for a task `ps` and a cluster with `ps`.
MirroredPlace mirrored_place(const TfConfig& config);

/// The place of a task where parameter servers keep the variables: rank 0 is
/// the chief, which hands out the steps and computes none; then come the workers and the servers.
struct ParameterServerPlace {
  int rank = 0;
  int workers = 0;                 // ranks 1..workers; the ranks from there on are servers
  std::vector<std::string> hosts;  // by rank
  bool evaluator = false;
};

/// Throws InvalidArgument if there is no cluster, no `chief`, no `ps` or no worker.
ParameterServerPlace parameter_server_place(const TfConfig& config);

}  // namespace collbench
