// The rounds of what is played, read from the registry's schedules: how many messages of which
// size goes how far, and how much of it is reduced.
//
// Reading takes ranks and rounds as they stand for others: the first round of each run of alike
// ones, of all ranks or, where there are many, of the first ones and of as many evenly chosen. What
// was read is remembered, since a fit asks for the same schedules thousands of times.
// Only long vectors down pipelined trees have no row, and are a closed form.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "heuristics/structure/played_method.h"

namespace collbench {

/// Rounds that are alike.
struct MessageRound {
  double count = 1;
  double bytes = 0;     // sent by the busiest rank
  double reduced = 0;   // bytes reduced by it
  double distance = 1;  // in ranks, between partners
  double segments = 1;  // that the message is cut into, one after the other
  bool posted = false;  // segments are started together and not waited for one by one
};

/// Requires a form of single ranks a node that is no choice (played_for() gives those), ranks >= 2.
/// Messages of one rank to or from different peers in a round count as one after the other.
std::vector<MessageRound> message_rounds(const PlayedMethod& played, int ranks, double bytes);

/// A round of a schedule whose partners are on one axis of a torus.
struct AxisRound {
  std::size_t axis = 0;
  double count = 1;
  double share = 0;     // of the track's part of the vector, that a rank sends
  double distance = 0;  // to the partner, along the axis
  double load = 0;      // messages that the busiest directed link of the axis carries
};
using AxisTrack = std::vector<AxisRound>;

/// The tracks of a form that drives the ports of a torus with these axes, one for each axis, of
/// which the first round is on the first axis, the second, ... Axes that are no power of two are
/// taken as the next one where the schedule needs that.
std::shared_ptr<const std::vector<AxisTrack>> axis_tracks(const PlayedMethod& played,
                                                          const std::vector<int>& axes);

}  // namespace collbench
