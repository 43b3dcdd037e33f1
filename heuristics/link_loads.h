// How long the links on the way of each message are busy with all that is sent at its stage.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "heuristics/round_costs.h"

namespace collbench {

// Adds up what links carry. One thread's own; `setting` outlives it.
class LinkLoads {
 public:
  explicit LinkLoads(const CostSetting& setting)
      : setting_(setting),
        load_(setting.machine.topology.links().size(), 0),
        busy_(load_),
        load_of_all_(load_) {}

  // Sets CostMessage::busy of all that is sent in some rounds that stand for `times` each, and that
  // come in the order in which they are played.
  void share(std::span<StagedRound> rounds, int times);

  // The link that is busy longest, and for how long with the payloads of all rounds; -1 if none is.
  std::pair<LinkId, double> busiest() const;

 private:
  struct Sent {
    int stage;
    int track;
    std::size_t message;  // of
    StagedRound* round;
  };

  bool has_tracks() const { return setting_.tracks.size() > 1; }
  void share_one(StagedRound& round, int times);
  void share_stage(std::span<const Sent> sent, int times);
  bool cost_the_same(std::span<const Sent> sent) const;
  void load(const StagedRound& round, std::size_t message);
  void take_loads(int times);
  void set_busy(StagedRound& round, std::size_t message) const;
  double most_load(const StagedRound& round, std::size_t message) const;
  void unload();

  const CostSetting& setting_;
  std::vector<double> load_;  // by link: bytes, then seconds
  std::vector<double> busy_;  // by link: seconds of all rounds so far
  bool tracks_in_step_ = true;
  std::vector<LinkId> loaded_;       // of the messages at hand
  std::vector<double> load_of_all_;  // tracks at a stage, seconds
  std::vector<LinkId> loaded_by_all_;
  std::vector<Sent> sent_;
};

}  // namespace collbench
