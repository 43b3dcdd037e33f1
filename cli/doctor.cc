#include "cli/doctor.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "bench/records/environment.h"
#include "cli/declare.h"
#include "cli/exit_code.h"
#include "core/error.h"
#include "core/input_file.h"
#include "core/json.h"
#include "core/parse.h"
#include "training/engines/engine.h"
#include "transports/world/backend.h"

namespace collbench {
namespace {

std::string read_smt() {
  const std::string active = first_line("/sys/devices/system/cpu/smt/active");
  return active.empty() ? "unknown" : (active == "1" ? "on" : "off");
}

/// A row of backends(), asked once: finding out may start a GPU.
struct BackEndState {
  std::string name;
  std::string summary;
  std::string unavailable;
};

std::vector<BackEndState> back_end_states() {
  std::vector<BackEndState> states;
  for (const Backend& backend : backends()) {
    states.push_back({backend.name, backend.summary, why_unavailable(backend)});
  }
  return states;
}

/// It was looked at, so there is no doubt.
FoundCause cause_of(const Finding& finding) {
  return {finding.cause, fmt::format("{}: {}", finding.what, finding.value), 1};
}

bool is_unhealthy(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.health == Health::bad; });
}

nlohmann::json to_json(const std::vector<Finding>& findings,
                       const std::vector<BackEndState>& states, const GpuReport& gpus,
                       const Environment& environment) {
  nlohmann::json document;
  document["environment"] = environment;
  document["gpus"] = parse_json<nlohmann::json>(gpus_json(gpus));
  for (const BackEndState& state : states) {
    document["backends"].push_back({{"name", state.name},
                                    {"summary", state.summary},
                                    {"usable", state.unavailable.empty()},
                                    {"reason", state.unavailable}});
  }
  for (const EngineState& engine : engine_states()) {
    document["engines"].push_back({{"name", engine.name},
                                   {"summary", engine.summary},
                                   {"usable", engine.unusable.empty()},
                                   {"reason", engine.unusable}});
  }
  static constexpr const char* names[] = {"good", "note", "bad"};
  for (const Finding& finding : findings) {
    document["findings"].push_back({{"what", finding.what},
                                    {"value", finding.value},
                                    {"health", names[static_cast<int>(finding.health)]},
                                    {"advice", finding.advice}});
    if (finding.cause == nullptr) continue;
    document["causes"].push_back(parse_json<nlohmann::json>(cause_json(cause_of(finding))));
  }
  document["verdict"] = is_unhealthy(findings) ? "unhealthy" : "healthy";
  return document;
}

void print_state(const std::string& name, const std::string& summary,
                 const std::string& unavailable) {
  std::cout << fmt::format("  {:<8}{:<10}{}\n", name, unavailable.empty() ? "usable" : "absent",
                           unavailable.empty() ? summary : unavailable);
}

void print_report(const std::vector<Finding>& findings, const std::vector<BackEndState>& states,
                  const GpuReport& gpus, const Environment& environment) {
  std::cout << "Back ends\n";
  for (const BackEndState& state : states) {
    print_state(state.name, state.summary, state.unavailable);
  }
  std::cout << "\nEngines of training\n";
  for (const EngineState& engine : engine_states()) {
    print_state(engine.name, engine.summary, engine.unusable);
  }
  std::cout << "\nGPUs\n" << describe_gpus(gpus) << "\nMachine\n";
  for (const char* key : {"host", "cpu", "cores", "affinity", "isa", "kernel", "compiler",
                          "build_flags", "version", "git_revision"}) {
    std::cout << fmt::format("  {:<14}{}\n", key, value_of(environment, key));
  }
  std::cout << "\nWhat matters for measuring\n";
  static constexpr const char* marks[] = {"  ", "- ", "! "};
  for (const Finding& finding : findings) {
    std::cout << fmt::format("{}{:<14}{}\n", marks[static_cast<int>(finding.health)], finding.what,
                             finding.value);
    if (finding.cause != nullptr) {
      std::cout << fmt::format("{:16}{} ({}): {}\n{:16}check: {}\n", "", finding.cause->title,
                               finding.cause->name, finding.cause->means, "", finding.cause->check);
    }
    if (!finding.advice.empty()) std::cout << fmt::format("{:16}{}\n", "", finding.advice);
  }
}

constexpr OptionRow doctor_rows[] = {
    {options_group, "format", "", "NAME", "text", "text or json"},
    {options_group, "json", "", "", "", "short for --format json"},
    {options_group, "check", "", "", "", "exit code 1 if something is bad: before a job starts"},
};

int run_doctor(const Settings& settings) {
  const std::string format = settings.format_of({"text", "json"});
  const Environment environment = collect_environment();
  std::vector<Finding> findings = judge(environment, read_smt());
  const std::vector<BackEndState> states = back_end_states();
  const GpuReport gpus = look_for_gpus();
  for (Finding& finding : judge_gpus(gpus)) findings.push_back(std::move(finding));
  if (format == "json") {
    std::cout << json_text(to_json(findings, states, gpus, environment), 2) << '\n';
  } else {
    print_report(findings, states, gpus, environment);
  }
  return settings.flag("check") && is_unhealthy(findings) ? exit_gate_failed : exit_ok;
}

}  // namespace

std::vector<Finding> judge(const Environment& environment, const std::string& smt) {
  std::vector<Finding> findings;
  const auto add = [&](const char* what, const std::string& value, Health health,
                       const char* advice, const char* cause_name = nullptr) {
    Finding finding{what, value, health, "", nullptr};
    if (health != Health::good) {
      finding.advice = advice;
      if (cause_name != nullptr) finding.cause = &cause(cause_name);
    }
    findings.push_back(std::move(finding));
  };
  const auto good_unless = [](bool disturbs, Health health) {
    return disturbs ? health : Health::good;
  };
  const std::string governor = value_of(environment, "governor");
  const bool slow = governor == "powersave" || governor == "ondemand" || governor == "conservative";
  add("governor", governor, good_unless(slow, Health::bad), "", "cpu_governor");
  const std::string load = value_of(environment, "load");
  const double cores = std::max(1.0, number_in(value_of(environment, "cores")).value_or(1));
  const double minute = number_in(load.substr(0, load.find(' '))).value_or(0);
  add("load", load, good_unless(minute > 0.2 * cores, minute > cores ? Health::bad : Health::note),
      "wait, or trust only rows that are not marked", "cpu_busy");
  const std::string steal = value_of(environment, "steal");
  const double stolen = number_in(steal.substr(0, steal.find_first_of(" %"))).value_or(0);
  add("steal", steal, good_unless(stolen >= 1, Health::note), "compare only within a run",
      "cpu_stolen");
  const std::string quota = value_of(environment, "cgroup_quota");
  add("CPU quota", quota, good_unless(quota != "none" && quota != "unknown", Health::bad),
      "raise the container's CPU limit", "cpu_quota");
  add("SMT", smt, good_unless(smt == "on", Health::note),
      "siblings share a core: half of the processors are cores");
  const std::string thp = value_of(environment, "thp");
  add("huge pages", thp, good_unless(thp == "never", Health::note),
      "large vectors gain 10 to 15 %: echo madvise > "
      "/sys/kernel/mm/transparent_hugepage/enabled");
  if (value_of(environment, "build_flags").find("Debug") != std::string::npos) {
    add("build", "Debug", Health::bad, "", "debug_build");
  }
  return findings;
}

void add_doctor(CLI::App& app, Action& action) {
  add_command(app, "doctor", "show what can run here, and what disturbs measurements", doctor_rows,
              action, run_doctor);
}

}  // namespace collbench
