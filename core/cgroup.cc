#include "core/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#include "core/input_file.h"
#include "core/parse.h"

namespace collbench {
namespace {

using Amount = std::optional<std::int64_t>;

/// `tightest` is left as it is where there is no limit.
template <typename Number>
void tighten(std::optional<Number>& tightest, std::optional<Number> limit) {
  if (limit && (!tightest || *limit < *tightest)) tightest = limit;
}

/// "inactive_file 4096" in a group's memory.stat; 0 if it is not there.
std::int64_t cached_in(const std::string& folder, std::string_view key) {
  std::ifstream file(folder + "/memory.stat");
  std::string name;
  for (std::int64_t bytes = 0; file >> name >> bytes;) {
    if (name == key) return std::max<std::int64_t>(bytes, 0);
  }
  return 0;
}

/// The file of a limit, that of what is used, and what of it is cached by both versions.
Amount left_in(const std::string& folder, const char* limit, const char* used, const char* cached) {
  const Amount most = integer_in(first_line(folder + limit));  // "max" is no number
  const Amount now = integer_in(first_line(folder + used));
  if (!most || !now) return {};
  return std::max<std::int64_t>(*most - (*now - std::min(*now, cached_in(folder, cached))), 0);
}

std::optional<double> quota_of(std::istringstream text) {
  double quota = 0;
  double period = 0;
  if (!(text >> quota >> period) || quota <= 0 || period <= 0) return {};
  return quota / period;
}

}  // namespace

std::vector<std::string> cgroup_folders(const std::string& controller, const std::string& root,
                                        const std::string& process) {
  std::vector<std::string> folders;
  const auto add = [&](const std::string& top, std::string path) {
    if (path == "/") path.clear();
    for (;; path.resize(path.rfind('/'))) {
      folders.push_back(top + path);
      if (path.rfind('/') == path.npos) return;
    }
  };
  std::ifstream file(process);
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/path", "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      add(root, path);
      add(root + "/unified", path);
    }
    const std::vector<std::string> names = split_at(controllers, ',');
    if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
    add(root + "/" + controller, path);  // a link, where one folder has several controllers
  }
  return folders;
}

Amount memory_left_in(std::span<const std::string> folders) {
  Amount left;
  for (const std::string& folder : folders) {
    tighten(left, left_in(folder, "/memory.max", "/memory.current", "inactive_file"));
    tighten(left, left_in(folder, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                          "total_inactive_file"));
  }
  return left;
}

std::optional<double> processors_allowed_in(std::span<const std::string> folders) {
  std::optional<double> allowed;
  for (const std::string& folder : folders) {
    tighten(allowed, quota_of(std::istringstream(first_line(folder + "/cpu.max"))));
    tighten(allowed, quota_of(std::istringstream(first_line(folder + "/cpu.cfs_quota_us") + " " +
                                                 first_line(folder + "/cpu.cfs_period_us"))));
  }
  return allowed;
}

}  // namespace collbench
