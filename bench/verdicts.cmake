# What compares two versions: statistics, verdicts, the interleaved runner, the history.
set(verdict_headers
  ab.h
  ab_process.h
  compare.h
  statistics_changes.h
  statistics_ranks.h
  verdict.h
  verdict_rules.h)
set(verdict_sources
  ab.cc
  ab_process.cc
  compare.cc
  statistics_changes.cc
  statistics_ranks.cc
  verdict.cc
  verdict_rules.cc)
