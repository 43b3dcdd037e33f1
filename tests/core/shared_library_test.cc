#include "core/shared_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace collbench {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::StartsWith;

TEST(SharedLibrary, TheFirstThatCanBeLoadedIsTaken) {
  const SharedLibrary found = load_first({"libcollbench-none.so", "libm.so.6"}, "");
  EXPECT_THAT(found.path(), EndsWith("/libm.so.6"));
  const LibraryFunction<double(double)> root(found, "sqrt");
  EXPECT_EQ(root(9), 3);
}

TEST(SharedLibrary, OfThoseThatCannotBeLoadedTheFirstIsNamed) {
  try {
    load_first({"libcollbench-none.so", "libcollbench-nothing.so"}, "; it is not needed");
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("libcollbench-none.so: "), EndsWith("; it is not needed")));
  }
}

}  // namespace
}  // namespace collbench
