// MSCCL XML: what we write we read back as the same all-reduce; what cannot work is refused by
// name.
#include "algorithms/exchange/msccl_xml.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/algorithms/simulated_ranks.h"
#include "tests/core/refusal.h"

#include "algorithms/verify.h"
#include "core/error.h"

namespace collbench {
namespace {

using testing::HasSubstr;

TEST(MscclXml, RoundTripsEveryAlgorithm) {
  for (const Instance& instance : instances({1, 2, 3, 5, 8, 12, 16, 24})) {
    const Schedule schedule = make_schedule(instance.spec, instance.ranks);
    const Schedule back = from_msccl_xml(to_msccl_xml(schedule));
    EXPECT_EQ(back.name(), schedule.name());
    EXPECT_EQ(back.ranks(), schedule.ranks());
    EXPECT_EQ(back.chunks(), schedule.chunks());
    // Two trees that send the same way in one round have rounds of their own.
    EXPECT_LE(back.rounds(), 2 * schedule.rounds()) << instance.spec << instance.ranks;
    const ScheduleCost before = count_cost(schedule);
    const ScheduleCost after = count_cost(back);
    EXPECT_EQ(after.total_messages, before.total_messages);
    EXPECT_EQ(after.max_sent, before.max_sent);
    EXPECT_EQ(after.max_reduced, before.max_reduced);
    const Verification verification = verify_allreduce(back);
    ASSERT_TRUE(verification.ok())
        << instance.spec << instance.ranks << ": " << verification.violations[0].what;
    // The format has no place for the own term of one-shot's folds.
    if (instance.spec != "one-shot" && is_replica_consistent(parse_algorithm_spec(instance.spec))) {
      EXPECT_TRUE(verification.replica_consistent) << instance.spec << instance.ranks;
    }
  }
}

// All pieces in the earliest round that their data allow would leave every link idle in turn.
TEST(MscclXml, PiecesThatFollowEachOtherStayAPipeline) {
  for (const char* spec : {"tree:segments=64", "double-tree:segments=32"}) {
    const Schedule schedule = make_schedule(spec, 8);
    const Schedule back = from_msccl_xml(to_msccl_xml(schedule));
    EXPECT_GE(back.rounds(), schedule.rounds() / 2) << spec;
    int most = 0;  // messages of a round from one rank to another
    Round round;
    for (Rank rank = 0; rank < 8; ++rank) {
      for (int t = 0; t < back.rounds(); ++t) {
        std::map<Rank, int> to;
        back.round(rank, t, round);
        for (const Op& op : round.ops()) {
          if (op.kind == OpKind::send) most = std::max(most, ++to[op.peer]);
        }
      }
    }
    EXPECT_LE(most, 1) << spec;
  }
}

// Of a program: the most peers that a rank sends to, or receives from, on one channel, and the most
// chunks of a step.
struct ProgramSize {
  int peers = 0;
  int chunks = 0;
};
ProgramSize size_of_program(const std::string& xml) {
  ProgramSize most;
  std::map<std::pair<std::string, bool>, int> peers;  // by channel and whether it sends
  std::istringstream lines(xml);
  for (std::string line; std::getline(lines, line);) {
    const auto value = [&](const std::string& name) {
      const std::size_t begin = line.find(' ' + name + "=\"") + name.size() + 3;
      return line.substr(begin, line.find('"', begin) - begin);
    };
    if (line.find("<gpu ") != std::string::npos) peers.clear();
    if (line.find("<tb ") != std::string::npos) {
      most.peers = std::max(most.peers, ++peers[{value("chan"), value("send") != "-1"}]);
    }
    if (line.find("<step ") != std::string::npos) {
      most.chunks = std::max(most.chunks, std::stoi(value("cnt")));
    }
  }
  return most;
}

TEST(MscclXml, KeepsToWhatRuntimesHaveRoomFor) {
  for (const char* spec : {"direct", "halving-doubling"}) {
    const Schedule schedule = make_schedule(spec, 160);
    const std::string xml = to_msccl_xml(schedule);
    const ProgramSize size = size_of_program(xml);
    EXPECT_LE(size.peers, 32) << spec;
    EXPECT_LT(size.chunks, 72) << spec;
    EXPECT_TRUE(verify_allreduce(from_msccl_xml(xml)).ok()) << spec;
  }
  // Each waits for one chunk and passes the next on.
  EXPECT_EQ(msccl_size(make_schedule("ring", 8)).steps, 14);
  EXPECT_TRUE(msccl_size(make_schedule("ring", 33)).fits());
  EXPECT_FALSE(msccl_size(make_schedule("ring", 34)).fits());  // 66 steps
  EXPECT_TRUE(msccl_size(make_schedule("direct", 65)).fits());
  EXPECT_FALSE(msccl_size(make_schedule("direct", 66)).fits());  // a block each way for each peer
}

TEST(MscclXml, RoundTripsBothHalvesOfEveryAlgorithmThatHasThem) {
  int halves = 0;
  for (const CollectiveKind kind : {CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
    for (const AlgorithmInfo& info : algorithms()) {
      if (!info.implements(kind)) continue;
      const AlgorithmSpec spec{std::string(info.name), {}};
      const Schedule schedule = make_schedule(spec, 8, Bytes{0}, {kind});
      const Schedule back = from_msccl_xml(to_msccl_xml(schedule, kind), kind);
      EXPECT_EQ(count_cost(back).total_messages, count_cost(schedule).total_messages) << info.name;
      const Verification verification = verify(back, {kind});
      EXPECT_TRUE(verification.ok()) << info.name << ": " << verification.violations[0].what;
      // A program of the half is none of the whole, and the other way round.
      EXPECT_THAT(refusal([&] { from_msccl_xml(to_msccl_xml(schedule, kind)); }),
                  HasSubstr("coll must be 'allreduce'"));
      ++halves;
    }
  }
  EXPECT_GT(halves, 10);
}

/// Rank 0's share to rank 1 and back, as programs name it: in the buffers "i" and "o" of `coll`.
std::string exchanged_shares(const std::string& coll, int chunks, const std::string& own,
                             const std::string& sent, const std::string& stored) {
  std::string xml = "<algo name=\"x\" nchunksperloop=\"" + std::to_string(chunks) +
                    "\" ngpus=\"2\" coll=\"" + coll + "\" inplace=\"1\">";
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::string peer = std::to_string(1 - gpu);
    const auto step = [&](const std::string& type, const std::string& from, const std::string& to) {
      return "<step s=\"0\" type=\"" + type + "\" " + from + " " + to +
             " cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/></tb>";
    };
    const bool adds = coll != "allgather";
    xml += "<gpu id=\"" + std::to_string(gpu) + "\"><tb id=\"0\" send=\"" + peer +
           "\" recv=\"-1\" chan=\"0\">" +
           step("s", "srcbuf=\"" + own + "\" srcoff=\"" + (adds ? peer : sent) + "\"",
                "dstbuf=\"o\" dstoff=\"0\"") +
           "<tb id=\"1\" send=\"-1\" recv=\"" + peer + "\" chan=\"0\">" +
           step(adds ? "rrc" : "r", "srcbuf=\"o\" srcoff=\"0\"",
                "dstbuf=\"o\" dstoff=\"" + (adds ? stored : peer) + "\"") +
           "</gpu>";
  }
  return xml + "</algo>";
}

TEST(MscclXml, TheSmallerBufferOfAHalfIsTheRanksShare) {
  const std::string gather = exchanged_shares("allgather", 2, "i", "0", "");
  EXPECT_TRUE(
      verify(from_msccl_xml(gather, CollectiveKind::all_gather), {CollectiveKind::all_gather})
          .ok());
  for (const char* coll : {"reducescatter", "reduce_scatter"}) {
    const std::string scatter = exchanged_shares(coll, 2, "i", "", "0");
    EXPECT_TRUE(verify(from_msccl_xml(scatter, CollectiveKind::reduce_scatter),
                       {CollectiveKind::reduce_scatter})
                    .ok());
  }
  EXPECT_THAT(refusal([&] {
                from_msccl_xml(exchanged_shares("allgather", 2, "i", "1", ""),
                               CollectiveKind::all_gather);
              }),
              HasSubstr("gpu 0, tb 0, step 0: srcoff must be a whole number from 0 to 0"));
  EXPECT_THAT(refusal([&] {
                from_msccl_xml(exchanged_shares("allgather", 3, "i", "0", ""),
                               CollectiveKind::all_gather);
              }),
              HasSubstr("nchunksperloop must be a multiple of the 2 gpus of allgather, not 3"));
  EXPECT_THAT(refusal([] { to_msccl_xml(make_schedule("ring", 2), CollectiveKind::reduce); }),
              HasSubstr("not of a reduce"));
}

TEST(MscclXml, RepeatsExactlyOnTheSecondTrip) {
  for (const char* spec : {"ring", "double-tree", "circulant", "torus", "swing"}) {
    const std::string once = to_msccl_xml(from_msccl_xml(to_msccl_xml(make_schedule(spec, 8))));
    EXPECT_EQ(to_msccl_xml(from_msccl_xml(once)), once) << spec;
  }
}

std::string read_file(const std::string& name) {
  std::ifstream file(std::string(COLLBENCH_CORPUS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

// One block per GPU that sends to the next and receives from the previous one, with fused steps:
// s, rrs, rrcs, rcs, r, as the MSCCL tools write a ring.
TEST(MscclXml, ReadsARingOfFusedSteps) {
  const Schedule schedule = from_msccl_xml(read_file("fused_ring.xml"));
  EXPECT_EQ(schedule.name(), "fused ring");
  EXPECT_EQ(schedule.rounds(), 4);
  const Verification verification = verify_allreduce(schedule);
  ASSERT_TRUE(verification.ok()) << verification.violations[0].what;
  EXPECT_TRUE(verification.replica_consistent);
}

TEST(MscclXml, LevelisesAnExchangeIntoOneRound) {
  const Schedule schedule = from_msccl_xml(to_msccl_xml(make_schedule("recursive-doubling", 8)));
  EXPECT_EQ(schedule.rounds(), 3);
}

// A program in which rank 0 gets `receives`, each by a block of its own that waits for the one
// before, and sends all to the others at the end.
struct Received {
  Rank from;
  Chunks chunks;
};

std::string collected_at_rank_0(int ranks, int chunks, const std::vector<Received>& receives) {
  const auto play = [=](Rank r, int t, Round& out) {
    if (t == static_cast<int>(receives.size())) {
      for (Rank to = 1; r == 0 && to < ranks; ++to) out.send(to, {0, chunks});
      if (r != 0) out.recv(0, {0, chunks});
      return;
    }
    const Received& now = receives[static_cast<std::size_t>(t)];
    if (r == now.from) out.send(0, now.chunks);
    if (r == 0) out.recv_reduce(now.from, now.chunks);
  };
  const int rounds = static_cast<int>(receives.size()) + 1;
  return to_msccl_xml({"collected", {ranks, chunks, rounds}, play});
}

TEST(MscclXml, PutsOverlappingAdditionsIntoRoundsOfTheirOwn) {
  const Schedule schedule = from_msccl_xml(
      collected_at_rank_0(4, 2, {{1, {0}}, {2, {0, 2}}, {3, {0}}, {1, {1}}, {3, {1}}}));
  const Verification verification = verify_allreduce(schedule);
  ASSERT_TRUE(verification.ok()) << verification.violations[0].what;
  const Vectors x = random_vectors(4, 32, 2);
  const Vectors sums = play(schedule, x);
  for (std::size_t i = 0; i < 16; ++i) {
    ASSERT_EQ(sums[0][i], ((x[0][i] + x[1][i]) + x[2][i]) + x[3][i]) << i;
  }
}

TEST(MscclXml, PutsAdditionsThatCrossIntoRoundsOfTheirOwn) {
  const Schedule schedule =
      from_msccl_xml(collected_at_rank_0(3, 2, {{1, {0}}, {2, {1}}, {1, {1}}, {2, {0}}}));
  const Verification verification = verify_allreduce(schedule);
  ASSERT_TRUE(verification.ok()) << verification.violations[0].what;
  EXPECT_EQ(schedule.rounds(), 3);
}

TEST(MscclXml, ReadsAProgramThatIsNotAnAllReduceForTheVerifierToRefute) {
  std::string xml = to_msccl_xml(make_schedule("ring", 2));
  xml.replace(xml.find("rrc"), 3, "r");
  EXPECT_FALSE(verify_allreduce(from_msccl_xml(xml)).ok());
}

// The export of a ring over 2 ranks with the first `from` replaced by `to`.
std::string refusal_after(const std::string& from, const std::string& to) {
  std::string xml = to_msccl_xml(make_schedule("ring", 2));
  const std::size_t at = xml.find(from);
  EXPECT_NE(at, xml.npos) << from;
  xml.replace(at, from.size(), to);
  return refusal([&] { from_msccl_xml(xml); });
}

TEST(MscclXml, RefusesMalformedElementsByName) {
  EXPECT_THAT(refusal_after("</algo>", ""), HasSubstr("MSCCL XML: not XML: "));
  EXPECT_THAT(refusal_after("<algo", "<also"), HasSubstr("not XML"));
  EXPECT_THAT(refusal_after("allreduce", "allgather"), HasSubstr("algo: coll must be 'allreduce'"));
  EXPECT_THAT(refusal_after("inplace=\"1\"", "inplace=\"0\""), HasSubstr("only in-place"));
  EXPECT_THAT(refusal_after("ngpus=\"2\"", "ngpus=\"3\""), HasSubstr("there are 2 gpu elements"));
  EXPECT_THAT(refusal_after("ngpus=\"2\"", ""), HasSubstr("attribute 'ngpus' is missing"));
  EXPECT_THAT(refusal_after("nchunksperloop=\"2\"", "nchunksperloop=\"2000000\""),
              HasSubstr("algo: nchunksperloop must be a whole number from 1 to 1048576"));
  EXPECT_THAT(refusal_after("gpu id=\"1\"", "gpu id=\"0\""), HasSubstr("id 0 is given twice"));
  EXPECT_THAT(refusal_after("send=\"1\"", "send=\"0\""),
              HasSubstr("gpu 0, tb 0: send must be another gpu or -1"));
  EXPECT_THAT(refusal_after("send=\"1\"", "send=\"2\""), HasSubstr("send must be a whole number"));
  EXPECT_THAT(refusal_after("tb id=\"1\"", "tb id=\"0\""), HasSubstr("its id is given twice"));
  EXPECT_THAT(refusal_after("step s=\"0\"", "step s=\"1\""),
              HasSubstr("gpu 0, tb 0, step 0: s must be a whole number from 0 to 0, not '1'"));
  EXPECT_THAT(refusal_after("\"rrc\"", "\"add\""), HasSubstr("tb 1, step 0: type must be s, r,"));
  EXPECT_THAT(refusal_after("\"rrc\"", "\"cpy\""), HasSubstr("second local buffer"));
  EXPECT_THAT(refusal_after("\"rrc\"", "\"rrcs\""), HasSubstr("needs a tb with send >= 0"));
  EXPECT_THAT(refusal_after("srcbuf=\"i\"", "srcbuf=\"s\""), HasSubstr("srcbuf is scratch"));
  EXPECT_THAT(refusal_after("srcbuf=\"i\"", "srcbuf=\"x\""), HasSubstr("must be 'i' or 'o'"));
  EXPECT_THAT(refusal_after("srcoff=\"1\"", "srcoff=\"2\""), HasSubstr("srcoff must be"));
  EXPECT_THAT(refusal_after("cnt=\"1\"", "cnt=\"0\""), HasSubstr("cnt must be"));
  EXPECT_THAT(refusal_after("cnt=\"1\"", "cnt=\"1x\""), HasSubstr("not '1x'"));
  EXPECT_THAT(refusal_after("depid=\"1\"", "depid=\"7\""), HasSubstr("does not have"));
  EXPECT_THAT(refusal_after("deps=\"0\"", "deps=\"9\""), HasSubstr("one of the 2 steps of tb 1"));
}

TEST(MscclXml, RefusesProgramsThatCannotEnd) {
  // The first send waits for a step that waits for the peer's first send, and the other way round.
  const std::string stuck = "depid=\"1\" deps=\"0\" hasdep=\"1\"";
  std::string xml = to_msccl_xml(make_schedule("ring", 2));
  const std::string free = "depid=\"-1\" deps=\"-1\" hasdep=\"1\"";
  for (const char* gpu : {"gpu id=\"0\"", "gpu id=\"1\""}) {
    xml.replace(xml.find(free, xml.find(gpu)), free.size(), stuck);
  }
  try {
    from_msccl_xml(xml);
    FAIL() << "accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), HasSubstr("gpu 0, tb 0, step 0 waits for ever"));
  }
}

TEST(MscclXml, RefusesUnmatchedMessages) {
  EXPECT_THAT(refusal_after("\"rrc\"", "\"nop\""),
              testing::AnyOf(HasSubstr("never received"), HasSubstr("both must be equal")));
  EXPECT_THAT(refusal_after("\"s\" srcbuf", "\"nop\" srcbuf"),
              testing::AnyOf(HasSubstr("waits for ever"), HasSubstr("both must be equal")));
  EXPECT_THAT(refusal_after("srcoff=\"1\"", "srcoff=\"0\""), HasSubstr("both must be equal"));
}

TEST(MscclXml, RefusesASwapWithoutReduction) {
  EXPECT_THAT([] { from_msccl_xml(read_file("swap.xml")); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("cannot be put into rounds")));
}

TEST(MscclXml, RefusesTextThatIsNotXml) {
  for (const char* text : {"", " ", "<", "algo", "<algo/>", "<algo coll=\"allreduce\"/>"}) {
    EXPECT_THROW(from_msccl_xml(text), InvalidArgument) << text;
  }
}

}  // namespace
}  // namespace collbench
