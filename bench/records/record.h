// A record is one measured case: every raw sample, the check, the environment, the bound.
//
// Records are what is written, compared and reported. The JSON form is results/schema.json.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/records/case.h"
#include "core/units.h"
#include "transports/communicator.h"

namespace collbench {

/// What physics allows for the case, and where the figure comes from.
struct Bound {
  Seconds time;        // no all-reduce of this kind can be faster
  std::string reason;  // "memory: 2 N M bytes at 38.2 GB/s measured here"
};

/// What a simulation knows exactly: equal on every machine and in every run, so that two versions
/// are compared for equality.
struct Exact {
  Seconds time{0};
  std::string engine;                // that played it: "fluid"
  std::string why;                   // this engine; empty if it was asked for
  std::int64_t messages = 0;         // of all ranks
  std::int64_t messages_played = 0;  // that the engine really handled
  int rounds = 0;
  int rank_classes = 0;           // quotient: classes of ranks that behave alike; else 0
  double busiest_link_bytes = 0;  // on the wire; 0 where the engine does not know
  std::string bottleneck;         // in words; empty where the engine does not know
};

/// The timings of one case. Latency of an iteration: from the last rank's arrival to the last
/// rank's completion. Samples are in the order taken and none is ever removed.
struct Measurement {
  std::vector<std::int64_t> latency_ns;  // one per timed iteration
  std::vector<std::int64_t> skew_ns;     // first to last arrival of the same iterations
  /// Of the same iterations, one after the other, every rank's time from its own arrival to its own
  /// completion, with the waiting for others; empty unless asked for.
  std::vector<std::int64_t> rank_time_ns;
  std::vector<std::int64_t> back_to_back_ns;  // batches without a barrier between: per iteration,
                                              // of the slowest rank
  std::int64_t spent_ns = 0;  // by rank 0's clock, until the last iteration was timed; not stored
  std::string stopped_by;     // the signal that ended it early: "SIGTERM at rank 1"; not stored
  std::int64_t wrong = -1;    // elements unlike the exact result, over all ranks; -1: not checked
  bool each_checked = false;  // every timed iteration, not only one before and one after
  bool replicas_identical = true;  // all ranks ended with the same bits
  std::string played;  // what really ran: "direct (fused, 8 pieces)", "Gloo ring_chunked"
  std::vector<std::string> warnings;  // "foreign load: 38 % of the CPU time was not ours"
  std::optional<Bound> bound;         // from what the team measured of its transport; else empty
  std::optional<Forecast> estimate;   // what the measured library itself foretold; else empty
  std::optional<Exact> exact;         // of a simulated case; latency_ns is its time in whole ns
};

/// Where and with what a record was made. Keys are stable; values are text.
/// At least: host, cpu, cores, affinity, cgroup_quota, governor, kernel, compiler, build_flags,
/// isa, thp, load, git_revision, version, command, seed, and the version of each back end in the
/// record.
using Environment = std::map<std::string, std::string>;
/// The value of a key, or `otherwise` if it is not there.
std::string value_of(const Environment& environment, const std::string& key,
                     const std::string& otherwise = "unknown");

/// Adds the values of `more` to those of other files in `all`: where they differ, "vm; other".
void add_environment(const Environment& more, Environment& all);

struct Record {
  Case point;
  std::string algorithm_chosen;  // differs from which.algorithm for "auto"
  std::string choice_reason;     // why auto chose it, in words; empty unless auto
  Measurement measurement;
  std::optional<Bound> bound;
  std::string started;  // ISO 8601, UTC
  std::string skipped;  // why the case could not run; empty if it ran
};

/// Statistics of the samples as tables show them. All in nanoseconds.
struct Summary {
  int n = 0;
  double median_ns = 0;
  double min_ns = 0;
  double p25_ns = 0;
  double p75_ns = 0;
  double p95_ns = 0;
  double p99_ns = 0;
  double interval_low_ns = 0;  // 95 % interval of the median by order statistics; NaN of n below
                               // 6, whose extremes enclose it with less
  double interval_high_ns = 0;
};
/// Quantiles by linear interpolation (Hyndman and Fan 1996, type 7, as NumPy's default). The
/// interval of the median uses binomial order statistics, exact for n < 1000. Requires at least one
/// sample.
Summary summarize(const std::vector<std::int64_t>& samples_ns);
/// The same of samples with parts of a nanosecond.
Summary summary_of(std::vector<double> samples_ns);

/// Of one call, where samples are of several (Case::calls).
Summary summarize(const Record& record);
/// Nanoseconds of one call, in the order taken.
std::vector<double> call_times_ns(const Record& record);

/// bytes / time, and times bus_factor(): nccl-tests' algbw and busbw.
Bandwidth algorithm_bandwidth(const Record& record, Seconds time);
Bandwidth bus_bandwidth(const Record& record, Seconds time);

}  // namespace collbench
