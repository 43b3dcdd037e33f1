// The status that NCCL's RAS gives as JSON: how many collectives each rank has issued.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "bench/logs/log_json.h"
#include "bench/logs/log_readers.h"
#include "core/error.h"
#include "core/plain_text.h"

namespace collbench {
namespace {

using nlohmann::json;

constexpr std::int64_t most_ras_ranks = 1 << 20;

void take_communicator(const json& status, JobLog& job) {
  const std::int64_t size = integer_at(status, "size", 0);
  if (size < 1 || size > most_ras_ranks) {
    ++job.left_out["communicators of RAS without a size"];
    return;
  }
  const int communicator = job.communicator(text_at(status, "hash"), "", static_cast<int>(size));
  for (const json& rank : status.value("ranks", json::array())) {
    const std::int64_t number = integer_at(rank, "rank");
    const json counts = rank.is_object() ? rank.value("collective_counts", json::object()) : json();
    if (number < 0 || number >= size || !counts.is_object()) {
      ++job.left_out["ranks of RAS without number or counts"];
      continue;
    }
    for (const auto& [name, count] : counts.items()) {
      if (!count.is_number_integer()) continue;
      job.issued.push_back(
          {communicator, static_cast<int>(number), logged_kind(name), count.get<std::int64_t>()});
    }
  }
  for (const json& missing : status.value("missing_ranks", json::array())) {
    const std::int64_t rank = missing.is_object()           ? integer_at(missing, "rank")
                              : missing.is_number_integer() ? missing.get<std::int64_t>()
                                                            : -1;
    if (rank >= 0 && rank < size) job.missing_ranks.push_back(static_cast<int>(rank));
  }
}

}  // namespace

void read_nccl_ras(std::string_view text, const std::string& file, JobLog& job) {
  const json status = log_json(text, file, job);
  const auto communicators = status.is_object() ? status.find("communicators") : status.end();
  require(communicators != status.end() && communicators->is_array(),
          file + ": a status of NCCL's RAS has 'communicators'");
  for (const json& communicator : *communicators) take_communicator(communicator, job);
}

}  // namespace collbench
