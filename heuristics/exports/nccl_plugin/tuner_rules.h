// Rules of a tuner plugin for NCCL: a text file of lines
//
//   collective,min_bytes,max_bytes,algorithm,protocol,channels,nodes,ranks[,pipe_ops[,buffers]]
//
// in the format of NCCL's example plugin (ext-tuner/example), so that one file serves either. The
// first line that matches wins; -1 is any; max_bytes is included; '#' begins a comment line.
//
// Unlike the example, everything unknown is refused with its line, channels of -1 leave NCCL's
// number alone instead of forcing one, and a line that the example would cut at 255 characters is
// refused. Needs the standard library alone, because the plugin is loaded into other programs.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace collbench {

/// What NCCL asks its tuner, by NCCL's own numbers.
struct TunerQuestion {
  int collective = 0;  // 0 broadcast, 1 reduce, 2 all-gather, 3 reduce-scatter, 4 all-reduce
  std::uint64_t bytes = 0;
  std::int64_t nodes = 1;
  std::int64_t ranks = 1;
  int pipe_ops = 1;
  int registered_buffers = 0;
};

struct TunerRule {
  int collective = 0;
  std::uint64_t min_bytes = 0;
  std::uint64_t max_bytes = 0;
  int algorithm = 0;  // 0 tree, 1 ring, 2 CollNet direct, 3 CollNet chain, 4 NVLS, 5 NVLS tree
  int protocol = 0;   // 0 LL, 1 LL128, 2 Simple
  int channels = -1;
  std::int64_t nodes = -1;
  std::int64_t ranks = -1;
  int pipe_ops = -1;
  int registered_buffers = -1;
  int line = 0;
  bool operator==(const TunerRule&) const = default;
};

/// A line that is no rule: "nccl_tuner.conf:3: unknown algorithm 'rign'; known are tree, ...".
class TunerFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws TunerFileError as FILE:LINE:.
std::vector<TunerRule> parse_tuner_rules(std::string_view text, const std::string& file);
/// The first that matches; null if none does.
const TunerRule* find_rule(const std::vector<TunerRule>& rules, const TunerQuestion& question);
/// As a line of the file, without its end.
std::string to_string(const TunerRule& rule);

}  // namespace collbench
