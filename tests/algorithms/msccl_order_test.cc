// Programs that do not say what comes first, and sums that are passed on and not kept.
#include "algorithms/exchange/msccl_order.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/algorithms/instances.h"
#include "tests/core/refusal.h"

#include "algorithms/exchange/msccl_xml.h"
#include "algorithms/registry.h"
#include "algorithms/verify.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct WrittenStep {
  std::string type;
  int chunk = 0;
  int depid = -1;  // its first step is waited for
  int hasdep = 0;
};
struct WrittenBlock {
  int send;
  int recv;
  std::vector<WrittenStep> steps;
};
using WrittenGpu = std::vector<WrittenBlock>;

std::string written_attribute(const std::string& name, const std::string& value) {
  return " " + name + "=\"" + value + "\"";
}

std::string written_attribute(const std::string& name, int value) {
  return written_attribute(name, std::to_string(value));
}

std::string written_program(int chunks, const std::vector<WrittenGpu>& gpus, int declared = -1,
                            const std::string& coll = "allreduce") {
  const int i_chunks = declared < 0 ? chunks : declared;
  std::string xml = "<algo" + written_attribute("name", "x") +
                    written_attribute("nchunksperloop", chunks) +
                    written_attribute("ngpus", static_cast<int>(gpus.size())) +
                    written_attribute("coll", coll) + written_attribute("inplace", 1) + ">";
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    xml += "<gpu" + written_attribute("id", static_cast<int>(gpu)) +
           written_attribute("i_chunks", i_chunks) + ">";
    int id = 0;
    for (const WrittenBlock& block : gpus[gpu]) {
      xml += "<tb" + written_attribute("id", id++) + written_attribute("send", block.send) +
             written_attribute("recv", block.recv) + written_attribute("chan", 0) + ">";
      int s = 0;
      for (const WrittenStep& step : block.steps) {
        xml += "<step" + written_attribute("s", s++) + written_attribute("type", step.type) +
               written_attribute("srcbuf", "i") + written_attribute("srcoff", step.chunk) +
               written_attribute("dstbuf", "i") + written_attribute("dstoff", step.chunk) +
               written_attribute("cnt", 1) + written_attribute("depid", step.depid) +
               written_attribute("deps", step.depid < 0 ? -1 : 0) +
               written_attribute("hasdep", step.hasdep) + "/>";
      }
      xml += "</tb>";
    }
    xml += "</gpu>";
  }
  return xml + "</algo>";
}

/// As NCCL's ring: sums travel without being kept, and only whole ones are.
std::vector<WrittenGpu> ring_of_gpus(int n, bool scatters = false) {
  std::vector<WrittenGpu> gpus;
  for (int r = 0; r < n; ++r) {
    const auto chunk = [&](int back) { return (r - back + 2 * n) % n; };
    std::vector<WrittenStep> steps{{"s", chunk(1)}};
    for (int k = 2; k < n; ++k) steps.push_back({"rrs", chunk(k)});
    steps.push_back({scatters ? "rrc" : "rrcs", r});
    for (int k = 1; !scatters && k < n - 1; ++k) steps.push_back({"rcs", chunk(k)});
    if (!scatters) steps.push_back({"r", chunk(n - 1)});
    gpus.push_back({{(r + 1) % n, (r + n - 1) % n, steps}});
  }
  return gpus;
}

std::string refusal_of_program(const std::string& xml) {
  return refusal([&] { from_msccl_xml(xml); });
}

TEST(MscclOrder, ARingKeepsOnlyWholeSums) {
  for (int n = 2; n <= 6; ++n) {
    EXPECT_TRUE(verify_allreduce(from_msccl_xml(written_program(n, ring_of_gpus(n)))).ok()) << n;
    const Collective half{CollectiveKind::reduce_scatter};
    const Schedule scatter =
        from_msccl_xml(written_program(n, ring_of_gpus(n, true), -1, "reducescatter"), half.kind);
    EXPECT_TRUE(verify(scatter, half).ok()) << n;
  }
}

TEST(MscclOrder, ASumThatWasPassedOnIsNotThere) {
  const WrittenGpu first{{1, 1, {{"s"}, {"r"}}}};
  EXPECT_THAT(refusal_of_program(written_program(1, {first, {{0, 0, {{"rrs"}}}}})),
              HasSubstr("gpu 1, tb 0, step 0 passes the sum of chunk 0 on and does not keep it"));
  const WrittenGpu twice{{1, 1, {{"s"}, {"r"}, {"r"}}}};
  EXPECT_THAT(refusal_of_program(written_program(1, {twice, {{0, 0, {{"rrs"}, {"s"}}}}})),
              HasSubstr("gpu 1, tb 0, step 1 uses chunk 0, whose sum gpu 1, tb 0, step 0 passed"));
  std::vector<WrittenGpu> gpus = ring_of_gpus(5);
  gpus[3][0].steps[4].type = "rrs";  // was rrcs
  EXPECT_THAT(refusal_of_program(written_program(5, gpus)),
              HasSubstr("gpu 3, tb 0, step 4 passes the sum"));
}

// One block adds to a chunk and another sends it: whichever stands first in the file.
TEST(MscclOrder, BlocksThatDoNotWaitForEachOtherAreRefused) {
  const WrittenGpu first{{1, 1, {{"s"}, {"r"}}}};
  const WrittenBlock adds{-1, 0, {{"rrc"}}};
  const WrittenBlock sends{0, -1, {{"s"}}};
  for (const WrittenGpu& second : {WrittenGpu{adds, sends}, WrittenGpu{sends, adds}}) {
    EXPECT_THAT(refusal_of_program(written_program(1, {first, second})),
                AllOf(HasSubstr("gpu 1, tb 0, step 0"), HasSubstr("gpu 1, tb 1, step 0"),
                      HasSubstr("both use chunk 0"), HasSubstr("a depid is missing")));
  }
  const WrittenGpu waits{{-1, 0, {{"rrc", 0, -1, 1}}}, {0, -1, {{"s", 0, 0}}}};
  EXPECT_TRUE(verify_allreduce(from_msccl_xml(written_program(1, {first, waits}))).ok());
  const WrittenGpu unheard{{-1, 0, {{"rrc", 0, -1, 0}}}, {0, -1, {{"s", 0, 0}}}};
  EXPECT_THAT(refusal_of_program(written_program(1, {first, unheard})),
              HasSubstr("gpu 1, tb 1, step 0: step 0 of tb 0, for which it waits, must have "
                        "hasdep=\"1\""));
}

// The answer cannot come before the question was sent, though no block of gpu 0 waits.
TEST(MscclOrder, MessagesOrderBlocksToo) {
  const WrittenGpu asks{{1, -1, {{"s"}}}, {-1, 2, {{"r"}}}};
  const WrittenGpu passes{{2, 0, {{"rrcs"}}}, {-1, 2, {{"r"}}}};
  const WrittenGpu answers{{0, 1, {{"rrcs", 0, -1, 1}}}, {1, -1, {{"s", 0, 0}}}};
  EXPECT_TRUE(verify_allreduce(from_msccl_xml(written_program(1, {asks, passes, answers}))).ok());
}

// Of what is exported no wait can be left out. (Some are for a step that has waited itself.)
TEST(MscclOrder, EveryWaitOfAnExportIsNeededOrFollows) {
  int refused = 0;
  for (const char* spec : {"one-shot", "halving-doubling", "ring:bidirectional", "double-tree"}) {
    const std::string xml = to_msccl_xml(make_schedule(spec, 6));
    EXPECT_EQ(refusal_of_program(xml), "") << spec;
    for (std::size_t at = xml.find("depid=\""); at != xml.npos; at = xml.find("depid=\"", at + 1)) {
      if (xml[at + 7] == '-') continue;
      std::string without = xml;
      without.replace(at, without.find(" hasdep", at) - at, "depid=\"-1\" deps=\"-1\"");
      const std::string why = refusal_of_program(without);
      if (why.empty()) continue;
      EXPECT_THAT(why, HasSubstr("a depid is missing"));
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(MscclOrder, StepsStayInTheBuffersThatAGpuDeclares) {
  const std::vector<WrittenGpu> gpus = ring_of_gpus(3);
  EXPECT_EQ(refusal_of_program(written_program(3, gpus, 3)),
            refusal_of_program(written_program(3, gpus)));
  EXPECT_THAT(refusal_of_program(written_program(3, gpus, 0)),
              HasSubstr("gpu 0, tb 0, step 0: cnt is 1, but buffer i has 0 chunks"));
  EXPECT_THAT(refusal_of_program(written_program(3, gpus, 2)),
              HasSubstr("must be a whole number from 0 to 1"));
}

}  // namespace
}  // namespace collbench
