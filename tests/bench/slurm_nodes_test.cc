#include "transports/world/slurm_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SlurmNodesTest, ListsExpandInOrderAndKeepLeadingZeros) {
  EXPECT_THAT(expand_node_list("a"), ElementsAre("a"));
  EXPECT_THAT(expand_node_list("node[03-05,11],other"),
              ElementsAre("node03", "node04", "node05", "node11", "other"));
  EXPECT_THAT(expand_node_list("n[8-11]"), ElementsAre("n8", "n9", "n10", "n11"));
  EXPECT_THAT(expand_node_list("n[098-101]"), ElementsAre("n098", "n099", "n100", "n101"));
  EXPECT_THAT(expand_node_list("rack[01,05]-eth0,x"),
              ElementsAre("rack01-eth0", "rack05-eth0", "x"));
  EXPECT_THAT(expand_node_list("r[1-2]n[1-2]"), ElementsAre("r1n1", "r1n2", "r2n1", "r2n2"));
  EXPECT_THAT(expand_node_list("[1-2]"), ElementsAre("1", "2"));
  EXPECT_EQ(expand_node_list("n[0-65535]").size(), 65'536u);
}

TEST(SlurmNodesTest, RefusesWhatIsNoListAndWhatIsTooLong) {
  for (const auto& [list, words] :
       {std::pair{"", "empty name"}, std::pair{"a,,b", "empty name"}, std::pair{"n[", "no ']'"},
        std::pair{"n[1", "no ']'"}, std::pair{"n]", "']' without"}, std::pair{"n[]", "empty name"},
        std::pair{"n[[1]]", "within brackets"}, std::pair{"n[x]", "no number"},
        std::pair{"n[1-]", "no number"}, std::pair{"n[-3]", "no number"},
        std::pair{"n[5-3]", "counts down"}, std::pair{"n[0-65536]", "more than 65536"},
        std::pair{"n[0-999999999]", "more than 65536"},
        std::pair{"n[1-300]m[1-300]", "more than 65536"}}) {
    EXPECT_THAT([&text = list] { expand_node_list(text); },
                ThrowsMessage<InvalidArgument>(HasSubstr(words)))
        << list;
  }
}

}  // namespace
}  // namespace collbench
