#include "bench/measure/worker_protocol.h"

#include <nlohmann/json.hpp>

#include "bench/records/record_json.h"
#include "core/error.h"

namespace collbench {
namespace {

using Json = nlohmann::json;

std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename Reader>
auto read(const std::string& line, Reader reader) {
  try {
    return reader(Json::parse(line));
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument("not a message of the worker protocol: " + line.substr(0, 200) + ": " +
                          error.what());
  }
}

Json sampling_value(const Sampling& sampling) {
  return {{"iterations", sampling.iterations},
          {"warmup", sampling.warmup},
          {"target_interval", sampling.target_interval},
          {"max_time_s", sampling.max_time.count()},
          {"timeout_s", sampling.timeout.count()},
          {"back_to_back", sampling.back_to_back},
          {"check", sampling.check},
          {"seed", sampling.seed},
          {"pin", sampling.pin},
          {"cpus", sampling.cpus}};
}

Sampling sampling_of(const Json& value) {
  Sampling sampling;
  value.at("iterations").get_to(sampling.iterations);
  value.at("warmup").get_to(sampling.warmup);
  value.at("target_interval").get_to(sampling.target_interval);
  sampling.max_time = Seconds{value.at("max_time_s").get<double>()};
  sampling.timeout = Seconds{value.at("timeout_s").get<double>()};
  value.at("back_to_back").get_to(sampling.back_to_back);
  value.at("check").get_to(sampling.check);
  value.at("seed").get_to(sampling.seed);
  value.at("pin").get_to(sampling.pin);
  value.at("cpus").get_to(sampling.cpus);
  return sampling;
}

}  // namespace

std::string to_line(const Hello& hello) {
  return dump({{"rank", hello.rank}, {"process", hello.process}, {"token", hello.token}});
}

std::string to_line(const Welcome& welcome) {
  return dump(
      {{"ranks", welcome.ranks}, {"backend", welcome.backend}, {"control", welcome.control}});
}

std::string to_line(const Command& command) {
  return dump({{"case", to_json(command.which)},
               {"sampling", sampling_value(command.sampling)},
               {"arena", command.arena}});
}

std::string to_line(const CaseOutcome& outcome) {
  if (const auto* fault = std::get_if<Fault>(&outcome)) {
    return dump(
        {{"fault", static_cast<int>(fault->kind)}, {"rank", fault->rank}, {"what", fault->what}});
  }
  Record record;
  record.measurement = std::get<Measurement>(outcome);
  record.bound = record.measurement.bound;
  return dump({{"record", to_json(record)}});
}

Hello read_hello(const std::string& line) {
  return read(line, [](const Json& value) {
    return Hello{value.at("rank"), value.at("process"), value.at("token")};
  });
}

Welcome read_welcome(const std::string& line) {
  return read(line, [](const Json& value) {
    return Welcome{value.at("ranks"), value.at("backend"), value.at("control")};
  });
}

Command read_command(const std::string& line) {
  return read(line, [](const Json& value) {
    return Command{case_from_json(value.at("case")), sampling_of(value.at("sampling")),
                   value.at("arena")};
  });
}

CaseOutcome read_outcome(const std::string& line) {
  return read(line, [](const Json& value) -> CaseOutcome {
    if (value.contains("fault")) {
      return Fault{static_cast<FaultKind>(value.at("fault").get<std::uint32_t>()), value.at("rank"),
                   value.at("what")};
    }
    Record record = record_from_json(value.at("record"));
    record.measurement.bound = record.bound;
    return std::move(record.measurement);
  });
}

}  // namespace collbench
