// JSON plans of MSCCL++, played by a small model of its executor: blocks of all GPUs in a random
// order, several launches one after the other, chunks as numbers.
#include "algorithms/exchange/mscclpp_plan.h"

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/registry.h"
#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

using nlohmann::json;

constexpr int launches = 3;

/// What rank `rank` contributes to `chunk` in a launch; sums of other contributions differ.
std::uint64_t contribution(int rank, int chunk, int launch) {
  return std::mt19937_64(static_cast<std::uint64_t>((launch * 64 + rank) * 4096 + chunk + 1))();
}

class MscclppModel {
 public:
  explicit MscclppModel(const std::string& text) : plan_(parse_json<json>(text)) {
    gpus_.resize(plan_["gpus"].size());
    for (std::size_t rank = 0; rank < gpus_.size(); ++rank) start(static_cast<int>(rank));
  }

  /// Plays all launches; false if it stands still.
  bool play(int seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    int idle = 0;
    while (idle < 100'000) {
      const auto rank = static_cast<int>(random() % gpus_.size());
      Gpu& gpu = gpus_[rank];
      if (gpu.launch == launches) {
        ++idle;
        continue;
      }
      const auto block = static_cast<int>(random() % gpu.next.size());
      idle = step(rank, block) ? 0 : idle + 1;
      bool is_done = true;
      for (std::size_t b = 0; b < gpu.next.size(); ++b) {
        is_done = is_done && gpu.next[b] == description(rank)["threadblocks"][b]["ops"].size();
      }
      if (!is_done) continue;
      finished_.push_back({rank, gpu.launch, gpu.vector});
      ++gpu.launch;
      start(rank);
    }
    return finished_.size() == gpus_.size() * launches;
  }

  struct Finished {
    int rank;
    int launch;
    std::vector<std::uint64_t> vector;
  };
  const std::vector<Finished>& finished() const { return finished_; }

 private:
  struct Gpu {
    int launch = 0;
    std::vector<std::uint64_t> vector;
    std::vector<std::uint64_t> scratch;
    std::vector<std::size_t> next;   // operation of each block
    std::vector<bool> is_unsettled;  // a block's threads have not met since they wrote or waited
    std::map<std::pair<std::string, int>, int> signals;  // by kind and number of channel
  };

  const json& description(int rank) const { return plan_["gpus"][rank]; }

  void start(int rank) {
    Gpu& gpu = gpus_[rank];
    const json& of = description(rank);
    const auto chunks = std::max(of["input_chunks"].get<int>(), of["output_chunks"].get<int>());
    const int share = chunks / static_cast<int>(plan_["gpus"].size());
    gpu.vector.assign(chunks, 0);
    for (int c = 0; c < chunks; ++c) {
      if (plan_["collective"] != "allgather" || c / share == rank) {
        gpu.vector[c] = contribution(rank, c, gpu.launch);
      }
    }
    gpu.scratch.resize(of["scratch_chunks"].get<std::size_t>());
    gpu.next.assign(of["threadblocks"].size(), 0);
    gpu.is_unsettled.assign(gpu.next.size(), false);
  }

  // The peer of a block's channel, and that channel's number among all of the peer to this rank.
  std::pair<int, int> opposite(int rank, int block, const std::string& kind, int id) const {
    const auto peers_of = [&](int of) {
      std::vector<int> peers;
      for (const json& channel : description(of)["channels"]) {
        if (channel["channel_type"] == kind) channel["connected_to"].get_to(peers);
      }
      return peers;
    };
    const std::vector<int> own = peers_of(rank);
    const int channel = global_channel(rank, block, kind, id);
    const int peer = own.at(channel);
    const auto nth = std::count(own.begin(), own.begin() + channel, peer);
    const std::vector<int> theirs = peers_of(peer);
    int seen = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      if (theirs[i] == rank && seen++ == nth) return {peer, static_cast<int>(i)};
    }
    ADD_FAILURE() << "rank " << peer << " has no such channel to " << rank;
    return {peer, 0};
  }

  int global_channel(int rank, int block, const std::string& kind, int id) const {
    for (const json& channel : description(rank)["threadblocks"][block]["channels"]) {
      if (channel["channel_type"] == kind) return channel["channel_ids"].at(id);
    }
    ADD_FAILURE() << "no channel of kind " << kind;
    return 0;
  }

  std::vector<std::uint64_t>& buffer(int rank, const std::string& type) {
    return type == "s" ? gpus_[rank].scratch : gpus_[rank].vector;
  }

  std::vector<std::uint64_t> read(int rank, const json& place) {
    const auto& from = buffer(rank, place["type"]);
    const auto first = from.begin() + place["index"].get<int>();
    return {first, first + place["size"].get<int>()};
  }

  void write(int rank, const std::string& type, const json& place,
             const std::vector<std::uint64_t>& values) {
    ASSERT_LE(place["index"].get<std::size_t>() + values.size(), buffer(rank, type).size());
    std::copy(values.begin(), values.end(), buffer(rank, type).begin() + place["index"].get<int>());
  }

  void signal(int rank, int block, const json& op, std::size_t i) {
    const std::string kind = op["channel_type"];
    const auto [peer, channel] = opposite(rank, block, kind, op["channel_ids"][i]);
    ++gpus_[peer].signals[{kind, channel}];
  }

  void put(int rank, int block, const json& op) {
    const std::string kind = op["channel_type"];
    for (std::size_t i = 0; i < op["dst_buff"].size(); ++i) {
      const json& to = op["dst_buff"][i];
      for (const json& refs : description(rank)["threadblocks"][block]["remote_buffer_refs"]) {
        if (refs["access_channel_type"] != kind) continue;
        const int id = refs["remote_buffer_ids"].at(to["buffer_id"].get<int>());
        const json& remote = description(rank)["remote_buffers"].at(id);
        EXPECT_EQ(remote["rank"], opposite(rank, block, kind, op["channel_ids"][i]).first);
        write(remote["rank"], remote["type"], to, read(rank, op["src_buff"][i]));
      }
      if (op["name"] == "pwsf") signal(rank, block, op, i);
    }
  }

  bool try_wait(int rank, int block, const json& op) {
    std::vector<int*> counts;
    for (const json& id : op["channel_ids"]) {
      const std::string kind = op["channel_type"];
      counts.push_back(&gpus_[rank].signals[{kind, global_channel(rank, block, kind, id)}]);
      if (*counts.back() == 0) return false;
    }
    for (int* count : counts) --*count;
    return true;
  }

  bool step(int rank, int block) {
    Gpu& gpu = gpus_[rank];
    const json& ops = description(rank)["threadblocks"][block]["ops"];
    if (gpu.next[block] == ops.size()) return false;
    const json& op = ops[gpu.next[block]];
    const std::string name = op["name"];
    if (op.contains("channel_ids")) {
      EXPECT_LE(op["channel_ids"].size(), 8U);
    }
    if (name == "wait") {
      if (!try_wait(rank, block, op)) return false;
    } else if (name == "signal") {
      for (std::size_t i = 0; i < op["channel_ids"].size(); ++i) signal(rank, block, op, i);
    } else if (name == "put" || name == "pwsf") {
      EXPECT_FALSE(gpu.is_unsettled[block]);
      put(rank, block, op);
    } else if (name == "copy" || name == "re") {
      EXPECT_FALSE(gpu.is_unsettled[block]);
      EXPECT_LE(op["src_buff"].size(), 10U);
      std::vector<std::uint64_t> sum = read(rank, op["src_buff"][0]);
      for (std::size_t s = 1; s < op["src_buff"].size(); ++s) {
        const auto term = read(rank, op["src_buff"][s]);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
      }
      write(rank, op["dst_buff"][0]["type"], op["dst_buff"][0], sum);
    }
    gpu.is_unsettled[block] = name != "nop" && (gpu.is_unsettled[block] || name != "signal");
    ++gpu.next[block];
    return true;
  }

  json plan_;
  std::vector<Gpu> gpus_;
  std::vector<Finished> finished_;
};

ShareMemory nodes_of(int ranks) {
  return [ranks](Rank a, Rank b) { return a / ranks == b / ranks; };
}

void expect_right(const Schedule& schedule, CollectiveKind kind, const ShareMemory& share_memory) {
  const std::string text = to_mscclpp_json(schedule, kind, share_memory);
  for (int seed = 0; seed < 2; ++seed) {
    MscclppModel model(text);
    ASSERT_TRUE(model.play(seed)) << schedule.name() << " stands still";
    for (const auto& [rank, launch, vector] : model.finished()) {
      const int chunks = schedule.chunks();
      const Chunks have = held_after({kind}, rank, schedule.ranks(), chunks);
      for (int c = have.first; c < have.first + have.count; ++c) {
        std::uint64_t expected = 0;
        if (!adds(kind)) {
          expected = contribution(source_of({kind}, c, schedule.ranks(), chunks), c, launch);
        }
        for (int r = 0; adds(kind) && r < schedule.ranks(); ++r) {
          expected += contribution(r, c, launch);
        }
        ASSERT_EQ(vector[c], expected) << schedule.name() << " rank " << rank << " chunk " << c;
      }
    }
  }
}

void expect_right(const Schedule& schedule, CollectiveKind kind, int per_node) {
  expect_right(schedule, kind, nodes_of(per_node));
}

TEST(MscclppPlanTest, DoesWhatTheScheduleDoes) {
  for (const char* spec : {"ring", "tree", "direct", "recursive-doubling", "halving-doubling",
                           "double-tree", "circulant"}) {
    for (const int per_node : {8, 4}) {
      expect_right(make_schedule(parse_algorithm_spec(spec), 8), CollectiveKind::all_reduce,
                   per_node);
    }
  }
  expect_right(make_schedule(parse_algorithm_spec("ring"), 5), CollectiveKind::all_reduce, 2);
  // Folds of 14 terms, the own one among them, are taken in two parts.
  expect_right(make_schedule(parse_algorithm_spec("direct"), 14), CollectiveKind::all_reduce, 7);
}

TEST(MscclppPlanTest, HalvesAreInPlaceInTheWholeVector) {
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    expect_right(make_schedule(parse_algorithm_spec("ring"), 6, Bytes{0}, {kind}), kind, 3);
    expect_right(make_schedule(parse_algorithm_spec("direct"), 6, Bytes{0}, {kind}), kind, 6);
  }
}

TEST(MscclppPlanTest, PairsOfNodesUseAPort) {
  const Schedule ring = make_schedule(parse_algorithm_spec("ring"), 4);
  const auto inside =
      parse_json<json>(to_mscclpp_json(ring, CollectiveKind::all_reduce, nodes_of(4)));
  const auto apart =
      parse_json<json>(to_mscclpp_json(ring, CollectiveKind::all_reduce, nodes_of(2)));
  EXPECT_EQ(inside["gpus"][0]["channels"].size(), 1U);
  EXPECT_EQ(apart["gpus"][0]["channels"].size(), 2U);
}

// Of two equal planes, one of NVLink and one of adapters, the way back need not take the same.
TEST(MscclppPlanTest, BothEndsHaveChannelsOfOneKind) {
  const ShareMemory by_source = [](Rank from, Rank) { return from % 2 == 0; };
  for (const char* spec : {"ring", "direct", "double-tree"}) {
    expect_right(make_schedule(parse_algorithm_spec(spec), 4), CollectiveKind::all_reduce,
                 by_source);
  }
}

TEST(MscclppPlanTest, RefusesWhatTheExecutorHasNoRoomFor) {
  const auto refusal = [](const char* spec, int ranks) -> std::string {
    try {
      to_mscclpp_json(make_schedule(parse_algorithm_spec(spec), ranks), CollectiveKind::all_reduce,
                      nodes_of(ranks));
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal("direct", 24), testing::HasSubstr("has 23 peers, at most 16"));
  EXPECT_THAT(refusal("ring:segments=64", 8), testing::HasSubstr("operations, at most 64"));
}

}  // namespace
}  // namespace collbench
