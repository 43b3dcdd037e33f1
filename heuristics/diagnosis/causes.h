// Why an all-reduce is slower than its hardware: one table of causes, with their words.
//
// `diagnose`, `logs` and `doctor` describe a cause alike: its name as in --json, what was
// seen (figures of the table, lines of the log), what it means, one command that would show it,
// and how sure the tool is. What is seen belongs to the finding; all else is a row here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

struct Cause {
  const char* name;    // "nvls_off", in --json and tickets
  const char* title;   // "NVLS is off"
  const char* means;   // why that costs what was seen; one sentence
  const char* check;   // one command to run next, or what to ask of it
  const char* source;  // where the fault is described
  bool fault = true;   // false: it explains what was seen, and nothing is to be repaired
};

/// All of them, by what they concern: adapters, GPUs, the library's choice, the network, ranks, the
/// host.
std::span<const Cause> causes();
/// The row of that name. Throws InvalidArgument, naming the nearest.
const Cause& cause(std::string_view name);

/// A cause that something speaks for.
struct FoundCause {
  const Cause* cause = nullptr;
  std::string seen;  // "busbw 86 of 370 GB/s from 256 MiB on; latency 2.1 times the expected"
  double sure = 1;   // probability, 0 to 1; 1: it was read, not concluded
  std::string_view check{};  // in place of the cause's, where it was found in another way

  std::string_view next() const { return check.empty() ? cause->check : check; }
};

/// "87 %", "certain" for what was read.
std::string how_sure(const FoundCause& found);
/// For a terminal: a line of title and sureness, then what was seen, what it means and what to
/// check, each on an indented line. Ends with a newline.
std::string describe(const FoundCause& found);
/// As an item of a Markdown list, for a ticket. Ends with a newline.
std::string describe_markdown(const FoundCause& found);
/// {"cause", "title", "seen", "means", "check", "sure", "fault"} as one JSON object.
std::string cause_json(const FoundCause& found);

}  // namespace collbench
