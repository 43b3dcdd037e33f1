// Limits that control groups (versions 1 and 2) set to this process. A limit of a group holds for
// those below it, so all on the way to the root count. Slurm, systemd and Kubernetes limit parents.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace collbench {

/// Folders of the groups of `controller` ("cpu", "memory") that this process is in, by `process`,
/// from its own to the root. Some may not be there: in a container the paths may be the host's.
std::vector<std::string> cgroup_folders(const std::string& controller,
                                        const std::string& root = "/sys/fs/cgroup",
                                        const std::string& process = "/proc/self/cgroup");

/// Bytes that may still be allocated in all of these groups of "memory", those included that the
/// kernel would take back from its cache of files; nothing if none has a limit.
std::optional<std::int64_t> memory_left_in(std::span<const std::string> folders);

/// Processors that these groups of "cpu" may use; nothing if none has a limit.
std::optional<double> processors_allowed_in(std::span<const std::string> folders);

}  // namespace collbench
