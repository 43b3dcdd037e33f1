#include "transports/mpi/mpich_rules.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "transports/mpi/mpi.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

// Tables as MPICH holds them in its data: the order of conditions decides there.
TEST(MpichRules, ReplaceTheAllReducesOfTheLibrarysOwnTablesAndNothingElse) {
  const std::string messages =
      R"({"collective=bcast":{"comm_size<8":{"algorithm=B":{}},"comm_size=any":{}},)"
      R"("collective=allreduce":{"comm_type=intra":{"algorithm=MPIR_Allreduce_intra_own":{}},)"
      R"("comm_type=inter":{"algorithm=I":{}}}})";
  const std::string memory = R"({"collective=allreduce":{"comm_type=intra":)"
                             R"({"algorithm=MPIDI_POSIX_mpi_allreduce_own":{}}}})";
  const std::string library = "ELF {\"collective=x\":" + std::string(1, '\0') + messages +
                              std::string(1, '\0') + memory + std::string(1, '\0') + "rest";
  const MpichTables own = mpich_tables_in(library, "libmpich.so");
  EXPECT_EQ(own.messages, messages);
  EXPECT_EQ(own.memory, memory);

  SelectionTable rules;
  rules.scales.resize(2);
  rules.scales[0].workers = 2;
  rules.scales[0].rules = {{{0}, {8}, "mpi", ""},
                           {{9}, {100}, "mpi:recursive-doubling", ""},
                           {{101}, no_end, "mpi:rabenseifner", ""}};
  rules.scales[1].workers = 4;
  rules.scales[1].rules = {{{0}, no_end, "mpi:smp", ""}};
  const MpichTables ruled = with_rules(own, rules);
  std::string text = ruled.messages;
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  const std::string doubling = R"({"algorithm=MPIR_Allreduce_intra_recursive_doubling":{}})";
  EXPECT_EQ(text,
            R"({"collective=bcast":{"comm_size<8":{"algorithm=B":{}},"comm_size=any":{}},)"
            R"("collective=allreduce":{"comm_type=intra":{"comm_size<4":{)"
            R"("avg_msg_size<=8":{"algorithm=MPIR_Allreduce_intra_own":{}},"avg_msg_size<=100":)" +
                doubling + R"(,"avg_msg_size=any":{"is_op_built_in=yes":{"count<pow2":)" +
                doubling +
                R"(,"count=any":{"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather":{}}},)"
                R"("is_op_built_in=no":)" +
                doubling +
                R"(}},"comm_size=any":{"avg_msg_size=any":{"is_commutative=yes":)"
                R"({"algorithm=MPIR_Allreduce_intra_smp":{}},"is_commutative=no":)" +
                doubling + R"(}}},"comm_type=inter":{"algorithm=I":{}}}})");
  EXPECT_THAT(ruled.memory, HasSubstr("MPIDI_POSIX_mpi_allreduce_own")) << "left to the library";
  EXPECT_THAT(ruled.memory, HasSubstr(R"("avg_msg_size<=100": {})")) << "the first table decides";

  EXPECT_THROW(mpich_tables_in(messages, "libmpich.so"), Unavailable);
  rules.scales[0].rules[1].algorithm = "mpi:linear";
  EXPECT_THROW(with_rules(own, rules), InvalidArgument);
}

// Of the library of this build, if it is MPICH: both tables are in it.
TEST(MpichRules, TheLibraryHoldsItsTables) {
  if (mpi_library().starts_with("MPICH")) {
    EXPECT_THAT(own_mpich_tables().messages, HasSubstr("MPIR_Allreduce_intra"));
  } else {
    EXPECT_THROW(own_mpich_tables(), Unavailable);
  }
}

}  // namespace
}  // namespace collbench
