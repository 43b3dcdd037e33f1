// Ranks that mean different things are told so, all of them, by name and value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/grpc_ranks.h"

#include "transports/grpc/agreement.h"

namespace collbench {
namespace {

using ::testing::HasSubstr;

TEST(SettingsDifferenceTest, NamesTheRankAndBothValues) {
  EXPECT_EQ(settings_difference(2, "bytes=4\ndtype=f64\n", "bytes=4\ndtype=f32\n"),
            "rank 2 has dtype=f64 where rank 0 has dtype=f32");
  EXPECT_EQ(settings_difference(1, "a=1\n", "a=1\n"), "");
}

TEST(SettingsDifferenceTest, NamesWhatOneSideLacks) {
  EXPECT_EQ(settings_difference(1, "a=1\n", "a=1\nb=2\n"), "rank 1 has no b where rank 0 has b=2");
  EXPECT_EQ(settings_difference(1, "a=1\nb=2\n", "a=1\n"), "rank 1 has b=2 where rank 0 has no b");
}

TEST(GrpcAgreementTest, AnyDifferenceIsThrownOnEveryRankAndLeavesTheEndpointUsable) {
  for (const MakeGrpcEndpoint make : {make_grpc_endpoint, make_tf_recvbuf_endpoint}) {
    const auto body = [](std::unique_ptr<GrpcEndpoint> endpoint) {
      endpoint->check_agreement("dtype=f32\nbytes=1024\n");
      try {
        endpoint->check_agreement(endpoint->rank() == 2 ? "dtype=f64\n" : "dtype=f32\n");
        ADD_FAILURE() << "rank " << endpoint->rank() << " did not notice";
      } catch (const std::exception& error) {
        EXPECT_THAT(error.what(), HasSubstr("rank 2 has dtype=f64 where rank 0 has dtype=f32"));
      }
      endpoint->check_agreement("dtype=f32\n");
    };
    on_grpc_ranks(4, body, make);
  }
}

TEST(GrpcAgreementTest, OneRankAgreesWithItself) {
  on_grpc_ranks(1, [](std::unique_ptr<GrpcEndpoint> endpoint) {
    EXPECT_NO_THROW(endpoint->check_agreement("dtype=f32\n"));
  });
}

}  // namespace
}  // namespace collbench
