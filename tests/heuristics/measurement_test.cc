// What measured times are called and how they are told apart.
#include "heuristics/measurement.h"

#include <gtest/gtest.h>

namespace collbench {
namespace {

TEST(MeasurementTest, NamesOfMethodsLeaveOutWhatIsUsualOrNotKnown) {
  MeasuredTime time;
  time.system = "abci";
  time.library = "nccl";
  time.algorithm = "ring";
  EXPECT_EQ(to_string(method_of(time)), "abci nccl ring");
  time.protocol = "LL";
  time.system.clear();
  EXPECT_EQ(to_string(method_of(time)), "nccl ring LL");
  time.type = DataType::bf16;
  time.op = ReduceOp::max;
  time.in_place = true;
  EXPECT_EQ(to_string(method_of(time)), "nccl ring LL bf16 max in place");
}

TEST(MeasurementTest, NcclIsKnownInAnyCaseAndVersion) {
  for (const char* name : {"nccl", "NCCL", "NCCL 2.20.5", "nccl-2.18", "RCCL/2.18"}) {
    EXPECT_TRUE(is_nccl(name)) << name;
  }
  for (const char* name : {"", "mpi", "oneccl", "ncclx", "nccx", "OMPI with NCCL"}) {
    EXPECT_FALSE(is_nccl(name)) << name;
  }
}

TEST(MeasurementTest, MethodsDifferByEverythingButScaleAndSize) {
  const MeasuredTime one;
  MeasuredTime other = one;
  other.scale = {16, 2};
  other.bytes = Bytes{1024};
  other.time = Seconds{1};
  EXPECT_EQ(method_of(one), method_of(other));
  for (std::string MeasuredTime::*word : {&MeasuredTime::system, &MeasuredTime::library,
                                          &MeasuredTime::algorithm, &MeasuredTime::protocol}) {
    MeasuredTime changed = one;
    changed.*word = "x";
    EXPECT_NE(method_of(one), method_of(changed));
  }
  other.in_place = true;
  EXPECT_NE(method_of(one), method_of(other));
}

TEST(MeasurementTest, ScalesAreCountedInWords) {
  EXPECT_EQ(to_string(Scale{1, 1}), "1 rank on 1 node");
  EXPECT_EQ(to_string(Scale{16, 4}), "16 ranks on 4 nodes");
  EXPECT_EQ(to_string(Scale{16, 0}), "16 ranks") << "nodes are not known";
  EXPECT_EQ((Scale{16, 4}.ranks_per_node()), 4);
  EXPECT_EQ((Scale{16, 0}.ranks_per_node()), 0);
}

TEST(MeasurementTest, OnlyWhatALibraryTakesByItselfIsItsDefault) {
  for (const char* name : {"auto", "default", "default-default", "default_mpich"}) {
    EXPECT_TRUE(is_library_default(name)) << name;
  }
  for (const char* name : {"ring", "default-ring", "defaults", "", "my_default_"}) {
    EXPECT_FALSE(is_library_default(name)) << name;
  }
}

TEST(MeasurementTest, AProtocolFollowsTheName) {
  EXPECT_EQ(full_name("ring", ""), "ring");
  EXPECT_EQ(full_name("ring", "LL128"), "ring/LL128");
}

TEST(SizeBandTest, EverySizeIsInOneBand) {
  EXPECT_EQ(size_bands.front().least.count, 0);
  for (std::size_t i = 1; i < size_bands.size(); ++i) {
    EXPECT_EQ(size_bands[i].least.count, size_bands[i - 1].most.count + 1) << size_bands[i].name;
  }
  EXPECT_GT(size_bands.back().most.count, std::int64_t{1} << 50);
}

}  // namespace
}  // namespace collbench
