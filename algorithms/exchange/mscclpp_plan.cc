#include "algorithms/exchange/mscclpp_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/exchange/msccl_program.h"
#include "algorithms/resolve.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr int most_blocks = 64;
constexpr std::size_t most_operations = 64;  // of a block
constexpr std::size_t most_peers = 16;       // of a block
constexpr std::size_t most_channels = 8;     // of an operation
constexpr std::size_t most_terms = 10;       // of a fold
constexpr const char* link_names[] = {"memory", "port"};

/// Which thread block has each chunk: chunks that one operation names stay together.
class BlockOfChunk {
 public:
  explicit BlockOfChunk(const Schedule& schedule)
      : parent_(static_cast<std::size_t>(schedule.chunks())) {
    std::iota(parent_.begin(), parent_.end(), 0);
    ResolvedRound round;
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      for (int t = 0; t < schedule.rounds(); ++t) {
        resolve(schedule, r, t, round);
        for (const Op& op : round.sends()) join(op.chunks);
        for (const Receipt& receipt : round.receipts()) join(receipt.chunks);
      }
    }
    std::map<int, int> numbers;
    for (int c = 0; c < schedule.chunks(); ++c) {
      numbers.emplace(top(c), static_cast<int>(numbers.size()));
    }
    const int sets = static_cast<int>(numbers.size());
    const int per_block = (sets + most_blocks - 1) / most_blocks;
    blocks_ = (sets + per_block - 1) / per_block;
    for (int c = 0; c < schedule.chunks(); ++c) block_.push_back(numbers.at(top(c)) / per_block);
  }

  int blocks() const { return blocks_; }
  int at(int chunk) const { return block_[static_cast<std::size_t>(chunk)]; }

 private:
  int top(int c) {
    while (parent_[c] != c) c = parent_[c] = parent_[parent_[c]];
    return c;
  }
  void join(Chunks chunks) {
    for (int c = 1; c < chunks.count; ++c) {
      const auto [least, most] = std::minmax({top(chunks.first), top(chunks.first + c)});
      parent_[most] = least;
    }
  }

  std::vector<int> parent_;
  std::vector<int> block_;
  int blocks_ = 0;
};

/// Where messages land: the k-th from a to b of a round is in one slot of b's scratch buffer.
class ScratchSlots {
 public:
  explicit ScratchSlots(const Schedule& schedule) : used_(schedule.ranks(), 0) {
    ResolvedRound round;
    for (Rank r = 0; r < schedule.ranks(); ++r) {
      for (int t = 0; t < schedule.rounds(); ++t) {
        resolve(schedule, r, t, round);
        for (const Receipt& receipt : round.receipts()) {
          for (const Rank source : round.sources(receipt)) {
            if (source == r) continue;
            slots_[{t, source, r}].push_back(used_[r]);
            used_[r] += receipt.chunks.count;
          }
        }
      }
    }
  }
  int at(int round, Rank from, Rank to, std::size_t k) const {
    return slots_.at({round, from, to}).at(k);
  }
  int used(Rank rank) const { return used_[rank]; }

 private:
  std::map<std::tuple<int, Rank, Rank>, std::vector<int>> slots_;
  std::vector<int> used_;
};

/// One GPU of a plan, filled round by round.
class PlanOfGpu {
 public:
  PlanOfGpu(const Schedule& schedule, CollectiveKind kind, Rank rank,
            const ShareMemory& share_memory, const BlockOfChunk& blocks, const ScratchSlots& slots)
      : schedule_(schedule),
        kind_(kind),
        rank_(rank),
        share_memory_(share_memory),
        buffer_(kind == CollectiveKind::all_gather ? "o" : "i"),
        blocks_(blocks),
        slots_(slots),
        of_block_(static_cast<std::size_t>(blocks.blocks())) {
    find_peers();
    for (Block& block : of_block_) add_greeting(block);
    ResolvedRound round;
    for (int t = 0; t < schedule.rounds(); ++t) {
      resolve(schedule, rank, t, round);
      add_sends(t, round);
      add_receipts(t, round);
    }
  }

  Json json() const {
    Json gpu;
    gpu["id"] = rank_;
    const auto chunks = [&](bool is_share) {
      return is_share ? schedule_.chunks() / schedule_.ranks() : schedule_.chunks();
    };
    gpu["input_chunks"] = chunks(kind_ == CollectiveKind::all_gather);
    gpu["output_chunks"] = chunks(kind_ == CollectiveKind::reduce_scatter);
    gpu["scratch_chunks"] = slots_.used(rank_);
    gpu["threadblocks"] = Json::array();
    Json channels = Json::array();
    Json remote = Json::array();
    for (int link = 0; link < 2; ++link) {
      Json peers = Json::array();
      for (const Block& block : of_block_) {
        for (const Rank peer : block.peers[link]) peers.push_back(peer);
      }
      if (!peers.empty()) {
        channels.push_back({{"channel_type", link_names[link]}, {"connected_to", peers}});
      }
      for (const Rank peer : all_peers_[link]) {
        remote.push_back({{"rank", peer},
                          {"type", "s"},
                          {"access_channel_types", Json::array({link_names[link]})}});
      }
    }
    int first_channel[2] = {0, 0};
    for (std::size_t b = 0; b < of_block_.size(); ++b) {
      gpu["threadblocks"].push_back(json_of(static_cast<int>(b), first_channel));
    }
    gpu["channels"] = channels;
    gpu["remote_buffers"] = remote;
    gpu["semaphores"] = Json::array();
    return gpu;
  }

 private:
  struct Block {
    std::vector<Rank> peers[2];  // by kind of link, ascending
    Json ops = Json::array();
  };

  // Both ends have to have a channel of the same kind, whichever way messages go.
  int link_to(Rank peer) const {
    return share_memory_(rank_, peer) && share_memory_(peer, rank_) ? 0 : 1;
  }
  static int index_of(const std::vector<Rank>& peers, Rank peer) {
    return static_cast<int>(std::lower_bound(peers.begin(), peers.end(), peer) - peers.begin());
  }

  void find_peers() {
    std::vector<std::set<Rank>> found(of_block_.size());
    ResolvedRound round;
    for (int t = 0; t < schedule_.rounds(); ++t) {
      resolve(schedule_, rank_, t, round);
      for (const Op& op : round.sends()) found[blocks_.at(op.chunks.first)].insert(op.peer);
      for (const Receipt& receipt : round.receipts()) {
        for (const Rank source : round.sources(receipt)) {
          if (source != rank_) found[blocks_.at(receipt.chunks.first)].insert(source);
        }
      }
    }
    std::set<Rank> all[2];
    for (std::size_t b = 0; b < found.size(); ++b) {
      for (const Rank peer : found[b]) {
        of_block_[b].peers[link_to(peer)].push_back(peer);
        all[link_to(peer)].insert(peer);
      }
      for (const auto& peers : of_block_[b].peers) {
        require(peers.size() <= most_peers,
                fmt::format("MSCCL++: a block of rank {} has {} peers, at most {} are possible",
                            rank_, peers.size(), most_peers));
      }
    }
    for (int link = 0; link < 2; ++link) all_peers_[link] = {all[link].begin(), all[link].end()};
  }

  /// Operations over the channels to `peers`: a thread serves each, so no peer is twice in one.
  void add_over(Block& block, const char* name, int link, const std::vector<Rank>& peers) {
    for (const auto& [begin, end] : parts_of(peers)) {
      Json ids = Json::array();
      for (std::size_t p = begin; p < end; ++p) {
        ids.push_back(index_of(block.peers[link], peers[p]));
      }
      block.ops.push_back(
          {{"name", name}, {"channel_ids", ids}, {"channel_type", link_names[link]}});
    }
  }

  /// Consecutive parts of `peers` that have at most `most_channels`, each once.
  static std::vector<std::pair<std::size_t, std::size_t>> parts_of(const std::vector<Rank>& peers) {
    std::vector<std::pair<std::size_t, std::size_t>> parts;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const bool joins = !parts.empty() && i - parts.back().first < most_channels &&
                         std::find(peers.begin() + parts.back().first, peers.begin() + i,
                                   peers[i]) == peers.begin() + i;
      if (!joins) parts.emplace_back(i, i);
      parts.back().second = i + 1;
    }
    return parts;
  }

  static void add_pause(Block& block) { block.ops.push_back({{"name", "nop"}}); }

  void add_greeting(Block& block) {
    for (const char* name : {"signal", "wait"}) {
      for (int link = 0; link < 2; ++link) add_over(block, name, link, block.peers[link]);
    }
    if (!block.ops.empty()) add_pause(block);
  }

  static Json place(const char* buffer, Chunks chunks) {
    return {{"type", buffer}, {"index", chunks.first}, {"size", chunks.count}};
  }

  void add_sends(int t, const ResolvedRound& round) {
    std::map<Rank, std::size_t> sent;
    std::map<std::pair<int, int>, std::vector<std::pair<Op, int>>> by_block;  // and kind of link
    for (const Op& op : round.sends()) {
      const int slot = slots_.at(t, rank_, op.peer, sent[op.peer]++);
      by_block[{blocks_.at(op.chunks.first), link_to(op.peer)}].emplace_back(op, slot);
    }
    for (const auto& [key, sends] : by_block) {
      std::vector<Rank> peers;
      for (const auto& [op, slot] : sends) peers.push_back(op.peer);
      for (const auto& [begin, end] : parts_of(peers)) {
        add_puts(of_block_[key.first], key.second, std::span(sends).subspan(begin, end - begin));
      }
    }
  }

  void add_puts(Block& block, int link, std::span<const std::pair<Op, int>> sends) {
    // A port reads the source later: it is waited for, since the chunk may be written again.
    Json put{{"name", link == 0 ? "put" : "pwsf"},
             {"src_buff", Json::array()},
             {"dst_buff", Json::array()},
             {"channel_ids", Json::array()},
             {"channel_type", link_names[link]}};
    std::vector<Rank> peers;
    for (const auto& [op, slot] : sends) {
      const int index = index_of(block.peers[link], op.peer);
      put["src_buff"].push_back(place(buffer_, op.chunks));
      put["dst_buff"].push_back({{"buffer_id", index}, {"index", slot}, {"size", op.chunks.count}});
      put["channel_ids"].push_back(index);
      peers.push_back(op.peer);
    }
    block.ops.push_back(std::move(put));
    add_pause(block);
    if (link == 0) add_over(block, "signal", link, peers);
  }

  void add_receipts(int t, const ResolvedRound& round) {
    std::map<Rank, std::size_t> received;
    for (const Receipt& receipt : round.receipts()) {
      Block& block = of_block_[blocks_.at(receipt.chunks.first)];
      const auto sources = round.sources(receipt);
      std::vector<Rank> from[2];
      std::vector<Json> terms;
      for (const Rank source : sources) {
        if (source == rank_) {
          terms.push_back(place(buffer_, receipt.chunks));
          continue;
        }
        from[link_to(source)].push_back(source);
        const int slot = slots_.at(t, source, rank_, received[source]++);
        terms.push_back(place("s", {slot, receipt.chunks.count}));
      }
      for (int link = 0; link < 2; ++link) add_over(block, "wait", link, from[link]);
      add_pause(block);
      add_folds(block, receipt, terms);
      add_pause(block);
    }
  }

  /// A left fold in parts; what is not the end yet is kept where the first term was.
  void add_folds(Block& block, const Receipt& receipt, const std::vector<Json>& terms) {
    const Json own = place(buffer_, receipt.chunks);
    std::size_t next = 1;
    do {
      const std::size_t end = std::min(terms.size(), next + most_terms - 1);
      Json sources = Json::array({terms.front()});
      for (; next < end; ++next) sources.push_back(terms[next]);
      if (next > most_terms) add_pause(block);
      Json op{{"name", receipt.folds ? "re" : "copy"},
              {"src_buff", sources},
              {"dst_buff", Json::array({next == terms.size() ? own : terms.front()})}};
      if (receipt.folds) op["reduce_op"] = "sum";
      block.ops.push_back(std::move(op));
    } while (next < terms.size());
  }

  Json json_of(int number, int (&first_channel)[2]) const {
    const Block& block = of_block_[number];
    require(block.ops.size() <= most_operations,
            fmt::format("MSCCL++: a block of rank {} has {} operations, at most {} are possible",
                        rank_, block.ops.size(), most_operations));
    Json json{{"id", number}, {"ops", block.ops}};
    json["channels"] = Json::array();
    json["remote_buffer_refs"] = Json::array();
    for (int link = 0; link < 2; ++link) {
      Json ids = Json::array();
      for (std::size_t i = 0; i < block.peers[link].size(); ++i)
        ids.push_back(first_channel[link]++);
      if (ids.empty()) continue;
      json["channels"].push_back({{"channel_type", link_names[link]}, {"channel_ids", ids}});
      Json buffers = Json::array();
      const std::size_t before = link == 0 ? 0 : all_peers_[0].size();
      for (const Rank peer : block.peers[link]) {
        buffers.push_back(before + index_of(all_peers_[link], peer));
      }
      json["remote_buffer_refs"].push_back(
          {{"access_channel_type", link_names[link]}, {"remote_buffer_ids", buffers}});
    }
    return json;
  }

  const Schedule& schedule_;
  CollectiveKind kind_;
  Rank rank_;
  const ShareMemory& share_memory_;
  const char* buffer_;  // of the whole vector
  const BlockOfChunk& blocks_;
  const ScratchSlots& slots_;
  std::vector<Block> of_block_;
  std::vector<Rank> all_peers_[2];
};

}  // namespace

std::string to_mscclpp_json(const Schedule& schedule, CollectiveKind kind,
                            const ShareMemory& share_memory) {
  Json plan;
  plan["name"] = schedule.name();
  plan["collective"] = msccl_name(kind, "MSCCL++ plans are written");
  plan["protocol"] = "Simple";
  plan["inplace"] = true;
  plan["reuse_resources"] = false;
  plan["num_threads_per_block"] = 1024;
  plan["use_double_scratch_buffer"] = false;
  plan["buffer_alignment"] = 16;
  const BlockOfChunk blocks(schedule);
  const ScratchSlots slots(schedule);
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    plan["gpus"].push_back(PlanOfGpu(schedule, kind, rank, share_memory, blocks, slots).json());
  }
  return json_text(plan) + "\n";
}

}  // namespace collbench
