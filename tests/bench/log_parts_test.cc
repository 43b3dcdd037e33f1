// What the readers of logs are made of, each against a slower way to the same answer, on random
// inputs with fixed seeds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/logs/exposure.h"
#include "bench/logs/job_files.h"
#include "bench/logs/job_report.h"
#include "bench/logs/json_members.h"
#include "bench/logs/log_json.h"
#include "bench/logs/operations.h"
#include "bench/logs/pickle.h"
#include "bench/logs/rank_graph.h"
#include "core/input_file.h"
#include "core/json.h"

namespace collbench {
namespace {

using OrderedJson = nlohmann::ordered_json;

class RandomJson {
 public:
  explicit RandomJson(unsigned seed) : random_(seed) {}

  int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

  OrderedJson scalar() {
    static const std::vector<std::string> texts = {"", "a", "b\"c", "\\", "{[", "]},\n", "µs \\\""};
    switch (below(5)) {
      case 0:
        return texts[static_cast<std::size_t>(below(static_cast<int>(texts.size())))];
      case 1:
        return below(1000) - 500;
      case 2:
        return (below(2000) - 1000) / 8.0;
      case 3:
        return below(2) == 0;
      default:
        return nullptr;
    }
  }

  OrderedJson value(int levels) {
    if (levels == 0 || below(3) == 0) return scalar();
    OrderedJson made = below(2) == 0 ? OrderedJson::array() : OrderedJson::object();
    for (int i = below(4); i > 0; --i) {
      if (made.is_array()) {
        made.push_back(value(levels - 1));
      } else {
        made[fmt::format("k{}\"", below(6))] = value(levels - 1);
      }
    }
    return made;
  }

  OrderedJson object(int levels) {
    OrderedJson made = {{"first", value(levels - 1)}, {"then", value(levels - 1)}};
    made["last"] = scalar();
    return made;
  }

 private:
  std::mt19937 random_;
};

/// Whether `part` is `whole` without what came after some place in its text.
bool is_beginning(const OrderedJson& part, const OrderedJson& whole) {
  if (!part.is_structured()) return part == whole;
  if (part.type() != whole.type() || part.size() > whole.size()) return false;
  std::size_t i = 0;
  for (auto p = part.begin(), w = whole.begin(); p != part.end(); ++p, ++w, ++i) {
    if (part.is_object() && p.key() != w.key()) return false;
    const bool is_last = i + 1 == part.size();
    if (is_last ? !is_beginning(*p, *w) : *p != *w) return false;
  }
  return true;
}

TEST(CompletedJsonTest, IsABeginningOfTheWholeWhereverItIsCut) {
  RandomJson random(11);
  for (int round = 0; round < 60; ++round) {
    const OrderedJson whole = random.object(4);
    const std::string text = whole.dump(round % 2 == 0 ? -1 : 1);
    std::size_t most = 0;
    for (std::size_t at = 1; at <= text.size(); ++at) {
      bool cut = false;
      const std::string completed = completed_json(text.substr(0, at), cut);
      EXPECT_EQ(cut, at < text.size()) << at;
      const OrderedJson read = try_parse_json<OrderedJson>(completed);
      ASSERT_FALSE(read.is_discarded()) << text.substr(0, at) << "\n" << completed;
      EXPECT_TRUE(is_beginning(read, whole)) << text.substr(0, at) << "\n" << completed;
      // Nothing that was complete is lost when more of the text is there.
      EXPECT_GE(completed.size(), most);
      most = std::max(most, completed.size());
    }
  }
}

// A kernel without its "Seq" would be counted, and take the others' numbers.
TEST(CompletedJsonTest, HalfAnEventIsLeftOut) {
  bool cut = false;
  EXPECT_EQ(
      completed_json(R"({"n":{"m":1},"events":[{"a":{"b":[1,2]}},{"a":{"b":[1,2],"c":3)", cut),
      R"({"n":{"m":1},"events":[{"a":{"b":[1,2]}}]})");
  EXPECT_TRUE(cut);
}

using Members = std::vector<std::pair<std::string, std::string>>;

/// What for_each_member() promises, from values. Lists hold scalars only.
void flatten(const OrderedJson& value, const std::string& key, bool is_root, Members& members) {
  if (value.is_object()) {
    if (!is_root) members.emplace_back(key, "{");
    for (const auto& [name, member] : value.items()) {
      const std::string written = OrderedJson(name).dump();
      flatten(member, written.substr(1, written.size() - 2), false, members);
    }
  } else if (value.is_array()) {
    for (const OrderedJson& element : value) flatten(element, key, false, members);
  } else {
    const std::string written = value.dump();
    members.emplace_back(key, value.is_string() ? written.substr(1, written.size() - 2) : written);
  }
}

OrderedJson without_objects_in_lists(const OrderedJson& value) {
  if (!value.is_structured()) return value;
  OrderedJson kept = value.is_array() ? OrderedJson::array() : OrderedJson::object();
  for (const auto& [key, member] : value.items()) {
    if (value.is_object()) kept[key] = without_objects_in_lists(member);
    if (value.is_array() && !member.is_structured()) kept.push_back(member);
  }
  return kept;
}

TEST(ForEachMemberTest, FindsWhatAParserFinds) {
  RandomJson random(12);
  for (int round = 0; round < 400; ++round) {
    const OrderedJson whole = without_objects_in_lists(random.object(4));
    Members expected;
    flatten(whole, "", true, expected);
    Members found;
    const auto take = [&](std::string_view key, std::string_view value) {
      found.emplace_back(key, value);
    };
    const std::string text = whole.dump(round % 2 == 0 ? -1 : 2);
    EXPECT_TRUE(for_each_member(text, take)) << text;
    EXPECT_EQ(found, expected) << text;
    const std::size_t at = static_cast<std::size_t>(random.below(static_cast<int>(text.size())));
    EXPECT_FALSE(for_each_member(text.substr(0, at), [](auto, auto) {})) << text.substr(0, at);
    EXPECT_FALSE(for_each_member(text + "}", [](auto, auto) {})) << text;
  }
}

TEST(ForEachOwnMemberTest, FindsWhatAParserFindsAndWhatIsWholeOfABeginning) {
  RandomJson random(13);
  for (int round = 0; round < 200; ++round) {
    const OrderedJson whole = random.object(4);
    const std::string text = whole.dump(round % 2 == 0 ? -1 : 2);
    for (std::size_t size = 0; size <= text.size(); ++size) {
      OrderedJson found = OrderedJson::object();
      const auto take = [&](std::string_view key, std::string_view value) {
        const auto name = try_parse_json<OrderedJson>(fmt::format("\"{}\"", key));
        found[name.get<std::string>()] = try_parse_json<OrderedJson>(value);
      };
      const std::string beginning = text.substr(0, size) + (size == text.size() ? " , 7]" : "");
      const OwnMembers members = for_each_own_member(beginning, take);
      ASSERT_EQ(members.whole, size == text.size()) << beginning;
      if (members.whole) {
        EXPECT_EQ(members.rest, " , 7]");
        EXPECT_EQ(found, whole) << text;
      } else {
        EXPECT_TRUE(is_beginning(found, whole)) << beginning << "\n" << found;
      }
    }
  }
}

TEST(PickleTest, PythonsOwnAreReadAsTheirJson) {
  // Every protocol, with values that are written in several ways by size, and shared ones.
  const std::string folder = testing::TempDir() + "collbench-pickles";
  const std::string script = R"(
import json, os, pickle, sys
shared = ['x', 1]
value = {'none': None, 'yes': True, 'no': False, 'text': 'a' * 300, 'utf': '\u00b5\u00df',
         'empty': '',
         'reals': [0.0, -1.5, 1e300], 'tuples': [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
         'integers': [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -1, -2**31 - 1, 2**62, -2**63],
         'deep': [[[[{'a': {'b': []}}]]]], 'again': [shared, shared, {'s': shared}],
         'many': list(range(2500)), 'keys': {str(i): i for i in range(1100)}}
os.makedirs(sys.argv[1], exist_ok=True)
for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
    with open('%s/%d' % (sys.argv[1], protocol), 'wb') as file: pickle.dump(value, file, protocol)
with open(sys.argv[1] + '/json', 'w') as file: json.dump(value, file)
)";
  const std::string command = fmt::format("python3 -c \"{}\" {}", script, folder);
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto expected = parse_json<nlohmann::json>(read_file(folder + "/json"));
  for (int protocol = 2; protocol <= 5; ++protocol) {
    const std::string pickle = read_file(fmt::format("{}/{}", folder, protocol));
    bool cut = true;
    EXPECT_EQ(parse_json<nlohmann::json>(json_of_pickle(pickle, "p", cut)), expected) << protocol;
    EXPECT_FALSE(cut);
    json_of_pickle(pickle.substr(0, pickle.size() / 2), "p", cut);
    EXPECT_TRUE(cut) << protocol;
  }
}

/// Whether some node reaches itself, by walking from each.
bool has_cycle(const std::vector<GraphNode>& nodes) {
  for (const GraphNode& start : nodes) {
    std::vector<std::uint64_t> seen;
    std::vector<std::uint64_t> open = start.needs;
    while (!open.empty()) {
      const std::uint64_t id = open.back();
      open.pop_back();
      if (id == start.id) return true;
      if (std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
      seen.push_back(id);
      for (const GraphNode& node : nodes) {
        if (node.id == id) open.insert(open.end(), node.needs.begin(), node.needs.end());
      }
    }
  }
  return false;
}

TEST(RankGraphTest, IsAcyclicUnlessANodeReachesItself) {
  RandomJson random(13);
  int cycles = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<GraphNode> nodes(static_cast<std::size_t>(1 + random.below(9)));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].id = 100 + 7 * i;
      // Ids that are no node's are among them.
      for (int need = random.below(3); need > 0; --need) {
        nodes[i].needs.push_back(100 + 7 * static_cast<std::uint64_t>(random.below(10)));
      }
    }
    EXPECT_EQ(is_acyclic(nodes), !has_cycle(nodes)) << round;
    cycles += has_cycle(nodes) ? 1 : 0;
  }
  EXPECT_GT(cycles, 50);
  EXPECT_LT(cycles, 450);
}

TEST(ExposureTest, IsWhatAClockThatTicksCounts) {
  RandomJson random(14);
  constexpr int ticks = 200;
  for (int round = 0; round < 100; ++round) {
    JobLog job;
    job.process("p");
    job.processes.front().rank = 0;
    std::vector<bool> communicates(ticks, false);
    std::vector<bool> computes(ticks, false);
    const auto mark = [&](std::vector<bool>& line) {
      const int begin = random.below(ticks - 40);
      const int length = 1 + random.below(40);
      std::fill_n(line.begin() + begin, length, true);
      return std::pair(static_cast<double>(begin), static_cast<double>(length));
    };
    for (int i = 1 + random.below(6); i > 0; --i) {
      LogRecord& record = job.records.emplace_back();
      record.process = 0;
      std::tie(record.start_us, record.duration_us) = mark(communicates);
    }
    for (int i = 1 + random.below(6); i > 0; --i) {
      const auto [begin, length] = mark(computes);
      job.computing.push_back({0, begin, length});
    }
    int communicated = 0;
    int exposed = 0;
    for (int t = 0; t < ticks; ++t) {
      communicated += communicates[t] ? 1 : 0;
      exposed += communicates[t] && !computes[t] ? 1 : 0;
    }
    const std::vector<Exposure> found = exposures_of(job, 1);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].communication_us, communicated);
    EXPECT_NEAR(found[0].exposed_us, exposed, 1e-9) << round;
  }
}

/// Records of all ranks of one communicator, each with a duration, in any order.
JobLog random_job(RandomJson& random, int ranks, int operations) {
  JobLog job;
  const int communicator = job.communicator("0x1", "world", ranks);
  for (int sequence = 0; sequence < operations; ++sequence) {
    const std::int64_t bytes = std::int64_t{4} << random.below(24);
    for (int rank = 0; rank < ranks; ++rank) {
      LogRecord& record = job.records.emplace_back();
      record.communicator = communicator;
      record.rank = rank;
      record.process = job.process(fmt::format("host pid {}", rank), "host");
      record.kind = LoggedKind::all_reduce;
      record.sequence = sequence;
      record.bytes = bytes;
      record.duration_us = 1 + random.below(100'000);
    }
  }
  std::shuffle(job.records.begin(), job.records.end(), std::mt19937(7));
  return job;
}

TEST(OperationsTest, TheLeastDurationIsTheTransferAndItsRankTheLast) {
  RandomJson random(15);
  for (int round = 0; round < 50; ++round) {
    const int ranks = 2 + random.below(7);
    const int count = 1 + random.below(20);
    JobLog job = random_job(random, ranks, count);
    const std::vector<LogRecord> records = job.records;
    const std::vector<JobOperation> operations = operations_of(job);
    ASSERT_EQ(operations.size(), static_cast<std::size_t>(count));
    for (const JobOperation& operation : operations) {
      const LogRecord* last = nullptr;
      for (const LogRecord& record : records) {
        if (record.sequence != operation.any().sequence) continue;
        const bool earlier =
            last != nullptr && record.duration_us == last->duration_us && record.rank < last->rank;
        if (last == nullptr || record.duration_us < last->duration_us || earlier) last = &record;
      }
      EXPECT_EQ(operation.transfer_us, last->duration_us);
      EXPECT_EQ(operation.last, last->rank);
      EXPECT_TRUE(operation.timed_by_all);
    }
  }
}

TEST(JobWritersTest, WhatIsWrittenIsReadAgain) {
  RandomJson random(16);
  using Write = void (*)(const JobLog& job, const std::string& folder);
  for (const auto& [name, write] : {std::pair<std::string, Write>("i", write_inspector_files),
                                    {"f", write_flight_recorder_files}}) {
    for (int round = 0; round < 5; ++round) {
      JobLog job = random_job(random, 2 + round, 6);
      const std::vector<JobOperation> before = operations_of(job);
      const std::string folder =
          testing::TempDir() + fmt::format("collbench-log-{}{}", name, round);
      std::filesystem::remove_all(folder);
      write(job, folder);
      JobLog again = read_job({folder});
      const std::vector<JobOperation> after = operations_of(again);
      ASSERT_EQ(after.size(), before.size()) << name;
      for (std::size_t i = 0; i < before.size(); ++i) {
        EXPECT_EQ(after[i].last, before[i].last) << name;
        EXPECT_NEAR(after[i].transfer_us, before[i].transfer_us, 0.6) << name;
        EXPECT_EQ(after[i].any().bytes, before[i].any().bytes) << name;
        EXPECT_EQ(after[i].records.size(), before[i].records.size()) << name;
      }
    }
  }
}

}  // namespace
}  // namespace collbench
