#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/refusal.h"

#include "core/error.h"
#include "transports/cuda/places.h"

namespace collbench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal_of_devices(const std::string& text, int count) {
  return refusal<Unavailable>([&] { parse_cuda_devices(text, count); });
}

TEST(CudaPlacesTest, NamesDevicesInBothSpellingsAndAllByDefault) {
  EXPECT_THAT(parse_cuda_devices("gpu:0,gpu:2", 4), ElementsAre(0, 2));
  EXPECT_THAT(parse_cuda_devices("3,1", 4), ElementsAre(3, 1));
  EXPECT_THAT(parse_cuda_devices("", 3), ElementsAre(0, 1, 2));
}

TEST(CudaPlacesTest, SaysWhichDevicesThereAreForANameThatIsNone) {
  EXPECT_THAT(refusal_of_devices("gpu:4", 4),
              HasSubstr("no device 'gpu:4'; this process sees gpu:0 to gpu:3"));
  EXPECT_THAT(refusal_of_devices("gpu:1", 1), HasSubstr("this process sees gpu:0"));
  for (const char* name : {"tpu:0", "gpu:", "gpu:-1", "gpu:0x", "0,,1", "gpu:99999999999"}) {
    EXPECT_NE(refusal_of_devices(name, 2), "") << name;
  }
  EXPECT_THAT(refusal_of_devices("gpu:0,gpu:0", 2), HasSubstr("named twice"));
}

TEST(CudaPlacesTest, PutsNeighboursOnOneDeviceWhereRanksAreMore) {
  EXPECT_THAT(place_on_cuda({0}, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(place_on_cuda({0, 1}, 4), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(place_on_cuda({2, 5}, 3), ElementsAre(2, 2, 5));
  EXPECT_THAT(place_on_cuda({0, 1, 2}, 2), ElementsAre(0, 1));
}

}  // namespace
}  // namespace collbench
