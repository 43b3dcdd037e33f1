#include "cli/train_team.h"

#include <bit>

#include <fmt/format.h>

#include "algorithms/registry.h"
#include "cli/train_report.h"
#include "core/error.h"
#include "training/gradient_schedule.h"
#include "transports/play/schedule_communicator.h"
#include "transports/waiting.h"
#include "transports/world/backend.h"
#include "transports/world/lent_endpoint.h"

namespace collbench {
namespace {

std::shared_ptr<Endpoint> join(const JoinSpec& job) {
  const Backend& backend = find_backend(job.backend);
  if (backend.join_remote == nullptr || !backend.unavailable.empty()) {
    throw Unavailable(fmt::format("workers in several processes need the back end '{}': {}",
                                  job.backend, backend.unavailable));
  }
  return backend.join_remote(job);
}

int cores_of_rank_0(Rendezvous& rendezvous) {
  const std::int64_t mine = usable_cores();
  return static_cast<int>(rendezvous.gather(std::span(&mine, 1))[0]);
}

}  // namespace

TrainTeam::TrainTeam(const JoinSpec& job)
    : endpoint_(join(job)), rendezvous_(endpoint_), cores_(cores_of_rank_0(rendezvous_)) {}

void TrainTeam::together(const std::function<void()>& task) {
  std::exception_ptr failure;
  std::string refusal;
  try {
    task();
  } catch (const std::exception& error) {
    refusal = error.what();
    failure = std::current_exception();
  }
  const std::vector<std::string> refusals = gather_text(refusal, rendezvous_);
  if (failure) std::rethrow_exception(failure);
  for (std::size_t rank = 0; rank < refusals.size(); ++rank) {
    if (refusals[rank].empty()) continue;
    throw TransportError(fmt::format("rank {} cannot take part: {}", rank, refusals[rank]));
  }
}

std::string TrainTeam::from_rank_0(std::string text) {
  auto length = static_cast<std::int64_t>(text.size());
  length = rendezvous_.gather(std::span(&length, 1))[0];
  text.resize(static_cast<std::size_t>(length));
  const auto communicator =
      make_schedule_communicator(make_schedule("ring", ranks()), lend(endpoint_), "the state");
  communicator->broadcast({reinterpret_cast<std::byte*>(text.data()), length, DataType::u8}, 0);
  return text;
}

std::unique_ptr<Communicator> TrainTeam::communicator(const std::string& algorithm) {
  return make_schedule_communicator(gradient_schedule(algorithm, "grpc", ranks(), cores_),
                                    lend(endpoint_), algorithm + " over gRPC streams");
}

std::vector<ReplicaReport> TrainTeam::gather(std::vector<ReplicaReport> own) {
  std::vector<std::int64_t> bits;
  for (const ReplicaReport& report : own) {
    for (const StepTimes& step : report.steps) {
      for (const StepPart& part : step_parts()) {
        bits.push_back(std::bit_cast<std::int64_t>((step.*part.time).count()));
      }
    }
  }
  const std::vector<std::int64_t> all = rendezvous_.gather(bits);
  std::vector<ReplicaReport> reports(static_cast<std::size_t>(ranks()) * own.size(), own[0]);
  auto next = all.begin();
  for (ReplicaReport& report : reports) {
    for (StepTimes& step : report.steps) {
      for (const StepPart& part : step_parts()) {
        step.*part.time = Seconds{std::bit_cast<double>(*next++)};
      }
    }
  }
  return reports;
}

}  // namespace collbench
