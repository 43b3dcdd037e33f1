#include "heuristics/choose.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/local_times.h"
#include "heuristics/policy.h"

namespace collbench {
namespace {

using namespace literals;

Choice choose_for_messages(int workers, Bytes bytes, int cores) {
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

/// By the times that were measured with so many workers on so many cores, if any were.
std::optional<Choice> choose_measured(std::string_view backend, int workers, Bytes bytes,
                                      DataType type, ReduceOp op, int cores) {
  const std::vector<MeasuredTime> times = local_times(backend, cores);
  const bool measured = std::any_of(times.begin(), times.end(), [&](const MeasuredTime& time) {
    return time.scale.ranks == workers;
  });
  if (!measured) return {};
  Question question;
  question.bytes = bytes;
  question.type = type;
  question.op = op;
  question.workers = workers;
  question.backend = backend;
  question.cores = cores;
  question.measured = times;
  Answer answer = ask_measured(question);
  return Choice{std::move(answer.algorithm),
                fmt::format("{}; {} workers on {} cores, of those that collbench brings along",
                            answer.reason, workers, cores)};
}

}  // namespace

Choice choose(std::string_view backend, int workers, Bytes bytes, DataType type, ReduceOp op,
              int cores) {
  if (workers > 1) {
    if (auto measured = choose_measured(backend, workers, bytes, type, op, cores)) return *measured;
  }
  if (backend == "shm") {
    return {"direct", "shared memory: one pass over all buffers moves the fewest bytes"};
  }
  if (backend == "cuda") {
    return {"direct",
            "GPU memory: one pass over all buffers moves the fewest bytes (not measured)"};
  }
  if (backend == "grpc") return choose_for_messages(workers, bytes, cores);
  if (backend == "gloo" || backend == "mpi" || backend == "nccl") {
    return {std::string(backend), fmt::format("{} chooses its algorithm itself", backend)};
  }
  throw InvalidArgument(fmt::format(
      "no rule chooses for the back end '{}'; known are shm, grpc, cuda, gloo, mpi, nccl",
      backend));
}

}  // namespace collbench
