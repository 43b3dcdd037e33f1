#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "algorithms/exchange/msccl_program.h"
#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/resolve.h"

namespace collbench {
namespace {

constexpr int most_chunks_of_step = 64;  // the runtimes take fewer than 72
constexpr int peers_of_channel = 32;     // and so many to send to, and to receive from

// A step of a block; -1 where there is none.
struct BlockStep {
  int block = -1;
  int step = -1;
};

struct ExportedStep {
  std::string type;
  Chunks chunks;
  BlockStep wait;
  bool is_waited_for = false;
};

struct BlockPeers {
  Rank send = -1;
  Rank recv = -1;
  std::vector<ExportedStep> steps;
};

// The blocks of one rank: one per peer and direction, filled round by round. Every step waits for
// the last steps in other blocks that wrote, or for a receive also read, its chunks.
class ExportedRank {
 public:
  ExportedRank(const Schedule& schedule, Rank rank)
      : written_(static_cast<std::size_t>(schedule.chunks())), read_(written_.size()) {
    ResolvedRound round;
    for (int t = 0; t < schedule.rounds(); ++t) {
      resolve(schedule, rank, t, round);
      // Sends first: they carry the values from before the round.
      for (const Op& op : round.sends()) add_send(op);
      for (const Receipt& receipt : round.receipts()) {
        for (const Rank source : round.sources(receipt)) {
          if (source != rank) add_receive(source, receipt);
        }
      }
    }
  }

  const std::vector<BlockPeers>& blocks() const { return blocks_; }

 private:
  void add_send(const Op& op) {
    const int block = block_for(op.peer, true);
    for_each_step(op.chunks, [&](Chunks chunks) {
      std::map<int, int> waits;
      for_each(chunks, [&](int c) { wait_for(written_[c], block, waits); });
      const BlockStep place = append(block, "s", chunks, waits);
      for_each(chunks, [&](int c) { read_[c].push_back(place); });
    });
  }

  void add_receive(Rank source, const Receipt& receipt) {
    const int block = block_for(source, false);
    for_each_step(receipt.chunks, [&](Chunks chunks) {
      std::map<int, int> waits;
      for_each(chunks, [&](int c) {
        wait_for(written_[c], block, waits);
        for (const BlockStep& reader : read_[c]) wait_for(reader, block, waits);
      });
      const BlockStep place = append(block, receipt.folds ? "rrc" : "r", chunks, waits);
      for_each(chunks, [&](int c) {
        written_[c] = place;
        read_[c].clear();
      });
    });
  }

  // Both ends of a message cut it alike.
  template <typename Action>
  static void for_each_step(Chunks chunks, const Action& action) {
    for (int done = 0; done < chunks.count; done += most_chunks_of_step) {
      action(Chunks{chunks.first + done, std::min(chunks.count - done, most_chunks_of_step)});
    }
  }

  template <typename Action>
  static void for_each(Chunks chunks, const Action& action) {
    for (int c = chunks.first; c < chunks.first + chunks.count; ++c) action(c);
  }

  // Steps of one block run in order, so only the last one of each other block matters.
  static void wait_for(BlockStep place, int own_block, std::map<int, int>& waits) {
    if (place.block < 0 || place.block == own_block) return;
    int& step = waits.emplace(place.block, place.step).first->second;
    step = std::max(step, place.step);
  }

  int block_for(Rank peer, bool is_send) {
    const auto next = static_cast<int>(blocks_.size());
    const auto [entry, is_new] = block_of_.emplace(std::pair{peer, is_send}, next);
    if (is_new) blocks_.push_back({is_send ? peer : -1, is_send ? -1 : peer, {}});
    return entry->second;
  }

  // A step can wait for one other step; "nop" steps before it wait for the rest.
  BlockStep append(int block, const char* type, Chunks chunks, const std::map<int, int>& waits) {
    std::vector<ExportedStep>& steps = blocks_[block].steps;
    std::size_t left = waits.size();
    for (const auto& [other, step] : waits) {
      blocks_[other].steps[step].is_waited_for = true;
      if (--left > 0) steps.push_back({"nop", {0, 0}, {other, step}});
    }
    const BlockStep last =
        waits.empty() ? BlockStep{} : BlockStep{waits.rbegin()->first, waits.rbegin()->second};
    steps.push_back({type, chunks, last});
    return {block, static_cast<int>(steps.size()) - 1};
  }

  std::vector<BlockPeers> blocks_;
  std::map<std::pair<Rank, bool>, int> block_of_;
  std::vector<BlockStep> written_;            // the last step that wrote each chunk
  std::vector<std::vector<BlockStep>> read_;  // the sends of each chunk since
};

// The channel of each pair of ranks: the first on which both have room for a peer more.
class PairChannels {
 public:
  explicit PairChannels(const Schedule& schedule) {
    std::map<std::pair<Rank, int>, int> sends;  // peers, by rank and channel
    std::map<std::pair<Rank, int>, int> receives;
    ResolvedRound round;
    for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
      std::set<Rank> peers;
      for (int t = 0; t < schedule.rounds(); ++t) {
        resolve(schedule, rank, t, round);
        for (const Op& op : round.sends()) peers.insert(op.peer);
      }
      for (const Rank peer : peers) {
        int channel = 0;
        while (sends[{rank, channel}] == peers_of_channel ||
               receives[{peer, channel}] == peers_of_channel) {
          ++channel;
        }
        ++sends[{rank, channel}];
        ++receives[{peer, channel}];
        of_pair_[{rank, peer}] = channel;
        count_ = std::max(count_, channel + 1);
      }
    }
  }
  int of(Rank from, Rank to) const { return of_pair_.at({from, to}); }
  int count() const { return count_; }

 private:
  std::map<std::pair<Rank, Rank>, int> of_pair_;
  int count_ = 1;
};

void write_step(pugi::xml_node block, int index, const ExportedStep& step, const char* buffer) {
  pugi::xml_node node = block.append_child("step");
  node.append_attribute("s") = index;
  node.append_attribute("type") = step.type.c_str();
  node.append_attribute("srcbuf") = buffer;
  node.append_attribute("srcoff") = step.chunks.first;
  node.append_attribute("dstbuf") = buffer;
  node.append_attribute("dstoff") = step.chunks.first;
  node.append_attribute("cnt") = step.chunks.count;
  node.append_attribute("depid") = step.wait.block;
  node.append_attribute("deps") = step.wait.step;
  node.append_attribute("hasdep") = step.is_waited_for ? 1 : 0;
}

void write_rank(pugi::xml_node gpu, const Schedule& schedule, const PairChannels& channels,
                CollectiveKind kind, Rank rank) {
  const int share = schedule.chunks() / schedule.ranks();
  const bool gathers = kind == CollectiveKind::all_gather;
  const bool scatters = kind == CollectiveKind::reduce_scatter;
  gpu.append_attribute("id") = rank;
  gpu.append_attribute("i_chunks") = gathers ? share : schedule.chunks();
  gpu.append_attribute("o_chunks") = scatters ? share : schedule.chunks();
  gpu.append_attribute("s_chunks") = 0;
  const ExportedRank program(schedule, rank);
  int id = 0;
  for (const BlockPeers& block : program.blocks()) {
    pugi::xml_node node = gpu.append_child("tb");
    node.append_attribute("id") = id++;
    node.append_attribute("send") = block.send;
    node.append_attribute("recv") = block.recv;
    node.append_attribute("chan") =
        block.send >= 0 ? channels.of(rank, block.send) : channels.of(block.recv, rank);
    int index = 0;
    for (const ExportedStep& step : block.steps)
      write_step(node, index++, step, gathers ? "o" : "i");
  }
}

}  // namespace

// One rank at a time: all together would take many times the memory of what is written.
std::string to_msccl_xml(const Schedule& schedule, CollectiveKind kind) {
  const PairChannels channels(schedule);
  pugi::xml_document document;
  pugi::xml_node algo = document.append_child("algo");
  algo.append_attribute("name") = schedule.name().c_str();
  algo.append_attribute("proto") = "Simple";
  algo.append_attribute("nchannels") = channels.count();
  algo.append_attribute("nchunksperloop") = schedule.chunks();
  algo.append_attribute("ngpus") = schedule.ranks();
  algo.append_attribute("coll") = msccl_name(kind).data();
  algo.append_attribute("inplace") = 1;
  algo.append_attribute("outofplace") = 0;
  algo.append_attribute("minBytes") = 0;
  algo.append_attribute("maxBytes") = 0;
  std::ostringstream begin;
  algo.print(begin, "", pugi::format_raw);
  const std::string empty = std::move(begin).str();
  std::ostringstream out;
  out << empty.substr(0, empty.rfind("/>")) << ">\n";
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    const pugi::xml_node gpu = algo.append_child("gpu");
    write_rank(gpu, schedule, channels, kind, rank);
    gpu.print(out, "  ", pugi::format_default, pugi::encoding_auto, 1);
    algo.remove_child(gpu);
  }
  out << "</algo>\n";
  return std::move(out).str();
}

MscclSize msccl_size(const Schedule& schedule) {
  MscclSize size{0, 0, schedule.chunks()};
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    const ExportedRank program(schedule, rank);
    size.blocks = std::max(size.blocks, static_cast<int>(program.blocks().size()));
    for (const BlockPeers& block : program.blocks()) {
      size.steps = std::max(size.steps, static_cast<int>(block.steps.size()));
    }
  }
  return size;
}

std::string to_string(const MscclSize& size) {
  return fmt::format(
      "{} thread blocks of up to {} steps and {} chunks; runtimes of MSCCL take {}, {} and {}",
      size.blocks, size.steps, size.chunks, most_msccl_blocks, most_msccl_steps, most_msccl_chunks);
}

}  // namespace collbench
