// The control messages that an accepter of a stream sends its opener: one letter, then text.
//
// They come from authenticated ranks, but are parsed like untrusted input, because a rank may be
// faulty or of another version.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/schedule.h"

namespace collbench {

struct GrpcControl {
  enum class Kind : std::uint8_t {
    unknown,   // of a later version; ignored
    welcome,   // the stream is accepted
    question,  // a heartbeat: is the peer alive?
    reply,     // its answer; `text` is what it waits for
    ready,     // all ranks below this one in the joining tree have joined
    begin,     // all ranks have joined
    missing,   // `ranks` have not joined yet, as far as the sender knows
  };
  Kind kind = Kind::unknown;
  std::string text;
  std::vector<Rank> ranks;
};

/// The longest message that is written or read; more of a reply is cut off.
constexpr std::size_t longest_control = 2048;

std::string write_control(const GrpcControl& control);

/// Never throws: a malformed message is `unknown`. Ranks are distinct, in order, and of 0 ...
/// ranks-1; text is printable.
GrpcControl read_control(std::string_view message, int ranks);

/// The parent of a rank in the binomial tree by which ranks join: without its lowest bit. -1 for
/// rank 0.
Rank joining_parent(Rank rank);
/// Its children in the tree of `ranks` ranks, at most log2 of them.
std::vector<Rank> joining_children(Rank rank, int ranks);

}  // namespace collbench
