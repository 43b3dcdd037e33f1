#include "cli/report_job.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iostream>

#include <fmt/format.h>

#include "bench/logs/job_report.h"
#include "bench/logs/job_verdict.h"
#include "bench/logs/job_workload.h"
#include "cli/exit_code.h"
#include "cli/output_file.h"
#include "cli/terminal.h"
#include "core/error.h"
#include "topologies/specification.h"

namespace collbench {
namespace {

constexpr OptionRow job_rows[] = {
    {options_group, "topo", "t", "SPEC", "",
     "machine of the job: expected times, and the regret of what it uses"},
    {options_group, "expect-busbw", "", "RATE", "",
     "bus bandwidth that a healthy network reaches: 46 (GB/s) or 46GB/s"},
    {options_group, "check", "", "", "",
     "exit with 1 if something holds the job up: a slow network, a late rank, a standstill"},
    {output_group, "json", "", "", "", "print JSON"},
    {output_group, "csv", "", "FILE", "", "write a row per communicator, collective and size"},
    {output_group, "markdown", "", "FILE", "", "write Markdown for a ticket; - is standard output"},
    {output_group, "html", "", "FILE", "",
     "a page that works offline, with the waiting of each rank"},
    {output_group, "output", "o", "FILE", "",
     "write a step of the job, for train --workload on other networks and scales"},
    {output_group, "inspector", "", "FOLDER", "",
     "write it as NCCL Inspector does, a file per rank"},
    {output_group, "flight-recorder", "", "FOLDER", "",
     "write it as PyTorch's Flight Recorder does, in JSON"},
    {output_group, "export-tuner", "", "FILE", "",
     "write rules for the job's sizes on --topo, for NCCL's tuner plugin"},
    {output_group, "export-rules", "", "FILE", "", "the same for Open MPI"},
};

NetworkExpectation expectation_of(const Settings& settings) {
  NetworkExpectation expectation;
  expectation.topology = settings.text("topo");
  const std::string& text = settings.text("expect-busbw");
  if (text.empty()) return expectation;
  const bool is_number = text.find_first_not_of("0123456789.") == text.npos;
  try {
    expectation.bus = parse_bandwidth(is_number ? text + "GB/s" : text);
  } catch (const InvalidArgument& e) {
    throw InvalidArgument(fmt::format("{}: {}", settings.label("expect-busbw"), e.what()));
  }
  require(expectation.bus->bytes_per_second > 0,
          fmt::format("{}: '{}' must be above 0", settings.label("expect-busbw"), text));
  return expectation;
}

void write_rules(const Settings& settings, const char* option, const char* format,
                 const JobReport& report) {
  if (settings.text(option).empty()) return;
  const RuleFormat& rules = find_rule_format(format);
  const SelectionTable table =
      rules_for_job(settings.text("topo"), rules, report.job, report.verdict);
  write_output(settings.text(option), [&](std::ostream& out) { out << rules.write(table); });
}

void write_workload(const Settings& settings, const JobLog& job) {
  if (settings.text("output").empty()) return;
  const JobWorkload made = workload_of_job(job);
  for (const std::string& remark : made.remarks) std::cerr << "note: " << remark << '\n';
  write_output(settings.text("output"), [&](std::ostream& out) { out << to_table(made.workload); });
}

/// Runs all of them, and then throws the first error; later ones are printed.
void run_all(std::initializer_list<std::function<void()>> outputs) {
  std::exception_ptr first;
  for (const std::function<void()>& output : outputs) {
    try {
      output();
    } catch (const Error& error) {
      if (first) std::cerr << fmt::format("{}{}\n", error_prefix(), error.what());
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

void write_files(const Settings& settings, const JobReport& report) {
  using Write = void (*)(std::ostream&, const JobReport&);
  const auto output = [&](const char* option, Write write) {
    write_output(settings.text(option), [&](std::ostream& out) { write(out, report); });
  };
  const auto folder = [&](const char* option, void (*write)(const JobLog&, const std::string&)) {
    if (settings.given(option)) write(report.job, settings.text(option));
  };
  run_all({[&] { output("csv", write_job_csv); }, [&] { output("markdown", write_job_markdown); },
           [&] { output("html", write_job_html); }, [&] { write_workload(settings, report.job); },
           [&] { folder("inspector", write_inspector_files); },
           [&] { folder("flight-recorder", write_flight_recorder_files); },
           [&] { write_rules(settings, "export-tuner", "nccl-tuner", report); },
           [&] { write_rules(settings, "export-rules", "ompi", report); }});
}

/// Where it can be read for a rank: how many the job has is not known before it ran.
void check_machine(const Settings& settings) {
  if (settings.text("topo").empty()) return;
  const Costs costs = machine(settings.text("topo"), 1).costs;
  require(settings.text("export-tuner").empty() || !costs.protocols.empty() || costs.in_network,
          fmt::format("{}: a rule needs one of NCCL's protocols (LL, LL128 and Simple), and {} has "
                      "none; name a machine of GPUs, such as dgx-h100, or give --export-rules",
                      settings.label("export-tuner"), settings.text("topo")));
}

}  // namespace

std::span<const OptionRow> job_report_rows() { return job_rows; }

bool job_report_is_printed(const Settings& settings) {
  constexpr const char* files[] = {"csv",    "markdown",     "html",
                                   "output", "export-tuner", "export-rules"};
  return settings.flag("json") || std::ranges::any_of(files, [&](const char* option) {
           return settings.text(option) == "-";
         });
}

void check_job_report(const Settings& settings) {
  expectation_of(settings);
  for (const char* option : {"export-tuner", "export-rules"}) {
    require(settings.text(option).empty() || !settings.text("topo").empty(),
            fmt::format("{} needs --topo: what is best depends on the machine",
                        settings.label(option)));
  }
  check_machine(settings);
}

int report_job(JobLog job, const Settings& settings) {
  check_job_report(settings);
  const NetworkExpectation expectation = expectation_of(settings);
  const JobVerdict verdict = judge_job(job, expectation);
  JobReport report{job, verdict, {}};
  if (!expectation.topology.empty()) {
    report.choices = choices_on(expectation.topology, job, verdict);
  }
  if (settings.flag("json")) {
    write_job_json(std::cout, report);
  } else if (!job_report_is_printed(settings)) {
    write_job_text(std::cout, report);
  }
  write_files(settings, report);
  return settings.flag("check") && !verdict.is_healthy() ? exit_gate_failed : exit_ok;
}

}  // namespace collbench
