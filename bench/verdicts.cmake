# What compares two versions: statistics, verdicts, the interleaved runner, the history.
set(verdict_headers
  verdict.h)
set(verdict_sources
  verdict.cc)
