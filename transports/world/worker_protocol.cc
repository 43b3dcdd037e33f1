#include "transports/world/worker_protocol.h"

#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::json;

template <typename Reader>
auto read(const std::string& line, Reader reader) {
  return read_json<Json>(
      line, "not a message of the worker protocol: " + printable(line.substr(0, 200)), reader);
}

/// All of a spec but its `schedules`, each under its name.
template <typename Spec, typename Visit>
void visit_fields(Spec& spec, const Visit& visit) {
  visit("backend", spec.backend);
  visit("ranks", spec.ranks);
  visit("algorithm", spec.algorithm);
  visit("collective", spec.collective.kind);
  visit("root", spec.collective.root);
  visit("counts", spec.collective.counts);
  visit("groups", spec.groups);
  visit("bytes", spec.bytes.count);
  visit("user_bytes", spec.user_bytes.count);
  visit("communicators", spec.communicators);
  visit("isolate", spec.isolate);
  visit("private_buffers", spec.private_buffers);
  visit("transport", spec.transport);
  visit("devices", spec.devices);
  visit("checksum", spec.checksum);
  visit("inject", spec.inject);
}

Json spec_value(const WorldSpec& spec) {
  Json value;
  visit_fields(spec, [&](const char* name, const auto& field) { value[name] = field; });
  return value;
}

WorldSpec spec_of(const Json& value) {
  WorldSpec spec;
  visit_fields(spec, [&](const char* name, auto& field) { value.at(name).get_to(field); });
  return spec;
}

}  // namespace

std::string to_line(const Hello& hello) {
  return json_text(Json{{"rank", hello.rank}, {"process", hello.process}, {"token", hello.token}});
}

std::string to_line(const Welcome& welcome) {
  return json_text(
      Json{{"ranks", welcome.ranks}, {"backend", welcome.backend}, {"control", welcome.control}});
}

std::string to_line(const WorkOrder& order) {
  return json_text(Json{{"spec", spec_value(order.spec)},
                        {"timeout_s", order.timeout.count()},
                        {"text", order.text},
                        {"arena", order.arena}});
}

std::string to_line(const OrderOutcome& outcome) {
  if (const auto* fault = std::get_if<Fault>(&outcome)) {
    return json_text(Json{
        {"fault", static_cast<int>(fault->kind)}, {"rank", fault->rank}, {"what", fault->what}});
  }
  return json_text(Json{{"answer", std::get<std::string>(outcome)}});
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

WorkOrder read_order(const std::string& line) {
  return read(line, [](const Json& value) {
    return WorkOrder{spec_of(value.at("spec")), Seconds{value.at("timeout_s").get<double>()},
                     value.at("text"), value.at("arena")};
  });
}

OrderOutcome read_outcome(const std::string& line) {
  return read(line, [](const Json& value) -> OrderOutcome {
    if (value.contains("fault")) {
      return Fault{static_cast<FaultKind>(value.at("fault").get<std::uint32_t>()), value.at("rank"),
                   value.at("what")};
    }
    return value.at("answer").get<std::string>();
  });
}

}  // namespace collbench
