#include "bench/measure/measure_case.h"

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/measure/sampler.h"
#include "bench/records/json_fields.h"
#include "bench/records/record_json.h"
#include "core/error.h"
#include "core/json.h"
#include "core/parse.h"
#include "transports/cuda/driver.h"
#include "transports/nccl/gpu_survey.h"
#include "transports/world/core_order.h"

namespace collbench {
namespace {

using SortedJson = nlohmann::json;

std::span<const JsonField<Sampling>> sampling_fields() {
  static const JsonField<Sampling> fields[] = {
      {"iterations", &Sampling::iterations},
      {"warmup", &Sampling::warmup},
      {"target_interval", &Sampling::target_interval},
      {"max_time_s", &Sampling::max_time},
      {"timeout_s", &Sampling::timeout},
      {"back_to_back", &Sampling::back_to_back},
      {"rank_times", &Sampling::rank_times},
      {"check", &Sampling::check},
      {"seed", &Sampling::seed},
      {"observe", &Sampling::observe},
      {"pin", &Sampling::pin},
      {"cpus", &Sampling::cpus},
  };
  return fields;
}

std::pair<Case, Sampling> read_order(const std::string& order) {
  using Order = std::pair<Case, Sampling>;
  return read_json<SortedJson>(order, "not the order of a case", [](const SortedJson& value) {
    return Order(case_from_json(value.at("case")),
                 read_fields(value.at("sampling"), sampling_fields()));
  });
}

// Half a million samples as JSON, with a checksum, would take most of the second in which a stopped
// run is to end: between processes they go as plain numbers, a line of each kind behind the rest.
constexpr std::vector<std::int64_t> Measurement::*samples[] = {
    &Measurement::latency_ns, &Measurement::skew_ns, &Measurement::rank_time_ns,
    &Measurement::back_to_back_ns};

std::string numbers_line(const std::vector<std::int64_t>& numbers) {
  std::string line = "\n";
  for (const std::int64_t number : numbers) {
    const fmt::format_int digits(number);
    line.append(digits.data(), digits.size()).append(" ");
  }
  return line;
}

std::vector<std::int64_t> numbers_in(std::string_view line) {
  std::vector<std::int64_t> numbers;
  const char* const end = line.data() + line.size();
  for (const char* at = line.data(); at < end; ++at) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    require(error == std::errc() && stop < end, "a worker's samples are not numbers");
    numbers.push_back(number);
    at = stop;
  }
  return numbers;
}

}  // namespace

WorldSpec world_of(const Case& point) {
  WorldSpec spec;
  spec.backend = point.backend;
  spec.ranks = point.workers;
  spec.algorithm = point.algorithm;
  spec.collective = collective_of(point);
  spec.groups = point.groups;
  spec.bytes = point.bytes;
  spec.user_bytes = user_buffer_bytes(point);
  spec.isolate = point.isolate;
  spec.private_buffers = point.private_buffers;
  spec.transport = point.transport;
  spec.devices = point.devices;
  spec.checksum = point.checksum;
  spec.inject = point.inject;
  return spec;
}

UserBuffers prepare_case(const Backend& backend, const Case& point, RankContext& context) {
  const WorldSpec spec = world_of(point);
  communicator_for(backend, spec, context);
  return {point,
          backend.user_memory != nullptr ? backend.user_memory(spec, context)
                                         : allocate_pages(spec.user_bytes),
          backend.copies};
}

Measurement measure_prepared(const Backend& backend, const Case& point, const Sampling& sampling,
                             RankContext& context, const UserBuffers& buffers) {
  Measurement measured =
      sample(point, sampling, *context.communicator, *context.rendezvous, buffers);
  measured.warnings.insert(measured.warnings.end(), context.remarks.begin(), context.remarks.end());
  if (backend.on_gpus && context.rank == 0) {
    for (std::string& text : slowed_gpus(survey_gpus(), cuda_bus_ids())) {
      measured.warnings.push_back(std::move(text));
    }
  }
  // A stopped run has no time for it.
  if (backend.measure_bound != nullptr && measured.stopped_by.empty()) {
    if (const auto bound = backend.measure_bound(world_of(point), context)) {
      measured.bound = Bound{bound->time, bound->reason};
    }
  }
  if (!backend.keeps_communicator) context.communicator.reset();
  return measured;
}

Measurement measure_case(const Case& point, const Sampling& sampling, RankContext& context) {
  if (sampling.pin) pin_to_core(context.rank, sampling.cpus);
  const Backend& backend = find_backend(point.backend);
  const UserBuffers buffers = prepare_case(backend, point, context);
  return measure_prepared(backend, point, sampling, context, buffers);
}

std::string case_order(const Case& point, const Sampling& sampling) {
  return json_text(
      SortedJson{{"case", to_json(point)},
                 {"sampling", written_fields<SortedJson>(sampling, sampling_fields())}});
}

std::string carry_out_case(RankContext& context, const WorldSpec&, const std::string& order) {
  const auto [point, sampling] = read_order(order);
  Record record;
  record.measurement = measure_case(point, sampling, context);
  if (context.rank != 0) return "";
  record.bound = record.measurement.bound;
  std::string lines =
      "\n" + record.measurement.stopped_by + numbers_line({record.measurement.spent_ns});
  for (const auto kind : samples) {
    lines += numbers_line(std::exchange(record.measurement.*kind, {}));
  }
  return to_json(record) + lines;
}

Measurement read_measurement(const std::string& answer) {
  const std::vector<std::string> lines = split_at(answer, '\n');
  require(lines.size() == 3 + std::size(samples), "a worker's answer is not a measurement");
  Record record = record_from_json(lines[0]);
  record.measurement.bound = record.bound;
  record.measurement.stopped_by = lines[1];
  const std::vector<std::int64_t> spent = numbers_in(lines[2]);
  if (!spent.empty()) record.measurement.spent_ns = spent.front();
  for (std::size_t i = 0; i < std::size(samples); ++i) {
    record.measurement.*samples[i] = numbers_in(lines[i + 3]);
  }
  return std::move(record.measurement);
}

}  // namespace collbench
