#include "heuristics/diagnosis/causes.h"

#include <set>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/json.h"

namespace collbench {
namespace {

TEST(Causes, EachHasItsOwnNameAndAllItsWords) {
  std::set<std::string> names;
  for (const Cause& row : causes()) {
    const std::string name = row.name;
    EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), name.npos) << name;
    for (const std::string text : {row.title, row.means, row.check, row.source}) {
      EXPECT_GT(text.size(), 8u) << name;
    }
  }
}

TEST(Causes, NamesOfSamplesWithExpectedAnswersAreKnown) {
  for (const char* name : {"nic_missing", "gdr_off", "nvls_off", "straggler"}) {
    EXPECT_STREQ(cause(name).name, name);
  }
}

TEST(Causes, AMisspeltNameIsRefusedWithTheNearest) {
  try {
    cause("nvls_of");
    FAIL() << "not refused";
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean 'nvls_off'?"), std::string::npos)
        << error.what();
  }
}

TEST(Causes, AreToldWithWhatWasSeenAndHowSure) {
  const FoundCause found{&cause("nvls_off"), "busbw 363 of 484 GB/s", 0.874};
  const std::string text = describe(found);
  for (const char* part : {"NVLS is off", "nvls_off, 87 %", "seen:  busbw 363 of 484 GB/s",
                           "means: rings", "check: NCCL_DEBUG=INFO"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  EXPECT_NE(describe_markdown(found).find("(`nvls_off`, 87 %)"), std::string::npos);
  const auto json = parse_json<nlohmann::json>(cause_json(found));
  EXPECT_EQ(json.at("cause"), "nvls_off");
  EXPECT_EQ(json.at("sure"), 0.874);
  EXPECT_EQ(how_sure({&cause("gdr_off"), "", 1}), "certain");
}

}  // namespace
}  // namespace collbench
