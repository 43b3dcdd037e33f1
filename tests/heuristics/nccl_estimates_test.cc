// What our copy of NCCL's cost model expects against what NCCL itself expects.
//
// The times are results of ncclGroupSimulateEnd of NCCL 2.28.9 on an H200, driver 580.159.04, for
// all-reduces of f32; two and four processes on one GPU, which NCCL takes for hosts that are joined
// by TCP over the loopback interface (results/gpu-h200-2026-11-26).
#include <optional>

#include <gtest/gtest.h>

#include "heuristics/nccl/nccl_model.h"

namespace collbench {
namespace {

// NCCL_GRAPH_DUMP_FILE, the same for both.
constexpr const char* loopback = R"(<graphs version="1">
  <graph id="0" pattern="4" crossnic="0" nchannels="1" speedintra="1.2" speedinter="1.2"
    latencyinter="0" typeintra="LOC" typeinter="PHB" samechannels="1"/>
  <graph id="1" pattern="3" crossnic="0" nchannels="1" speedintra="2.4" speedinter="1.2"
    latencyinter="0" typeintra="LOC" typeinter="PHB" samechannels="1"/>
  <graph id="4" pattern="6" crossnic="0" nchannels="0" speedintra="0" speedinter="0"
    latencyinter="0" typeintra="LOC" typeinter="LOC" samechannels="0"/>
</graphs>)";

struct NcclEstimate {
  int ranks = 0;
  Bytes bytes;
  double us = 0;
  // Of a run in which NCCL was told to use it; else its own choice.
  std::optional<NcclAlgorithm> algorithm = {};
  std::optional<NcclProtocol> protocol = {};
};

constexpr NcclEstimate estimates[] = {
    {2, {256}, 17.026667},
    {2, {1024}, 18.306667},
    {2, {4096}, 23.426666},
    {2, {16384}, 43.906670},
    {2, {65536}, 105.573333},
    {2, {262144}, 269.413330},
    {2, {1048576}, 924.773376},
    {2, {4194304}, 3546.213379},
    {2, {16777216}, 14031.973633},
    {4, {1024}, 36.014740},
    {4, {16384}, 77.559998},
    {4, {262144}, 457.039978},
    {2, {1024}, 21.407368, NcclAlgorithm::tree},
    {2, {32768}, 94.598343, NcclAlgorithm::tree},
    {2, {1048576}, 2271.216309, NcclAlgorithm::tree},
    {2, {1024}, 51.813335, NcclAlgorithm::ring, NcclProtocol::simple},
    {2, {32768}, 78.266670, NcclAlgorithm::ring, NcclProtocol::simple},
    {2, {32768}, 71.213333, NcclAlgorithm::ring},
};

TEST(NcclEstimatesTest, AreThoseOfNcclItself) {
  NcclInputs inputs = import_nccl_graphs(loopback, "loopback.xml");
  for (const NcclEstimate& estimate : estimates) {
    inputs.ranks = inputs.nodes = estimate.ranks;
    double least = 0;
    for (const NcclTime& time : nccl_times(inputs, estimate.bytes)) {
      if (estimate.algorithm && time.algorithm != *estimate.algorithm) continue;
      if (estimate.protocol && time.protocol != *estimate.protocol) continue;
      const double us = time.time.count() * 1e6;
      if (least == 0 || us < least) least = us;
    }
    EXPECT_NEAR(least / estimate.us, 1, 1e-5)
        << estimate.ranks << " ranks, " << to_string(estimate.bytes);
  }
}

}  // namespace
}  // namespace collbench
