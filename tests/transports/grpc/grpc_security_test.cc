// Nobody joins who does not belong to the job: certificates, tokens, and what strangers do to
// ports.
#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/transports/grpc/certificates.h"
#include "tests/transports/grpc/grpc_ranks.h"
#include "tests/transports/small_values.h"

#include "algorithms/registry.h"
#include "core/error.h"
#include "transports/play/schedule_communicator.h"

namespace collbench {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// What two ranks say that try to join, each with options of its own.
struct Outcomes {
  std::string zero, one;
};
Outcomes join_two(const std::function<void(GrpcOptions&)>& zero,
                  const std::function<void(GrpcOptions&)>& one, Seconds patience = Seconds{20.0}) {
  std::vector<GrpcOptions> options{grpc_test_options(0, 2), grpc_test_options(1, 2)};
  for (GrpcOptions& each : options) each.timeout = patience;
  zero(options[0]);
  one(options[1]);
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints;
  std::vector<std::string> addresses;
  for (const GrpcOptions& each : options) {
    endpoints.push_back(make_grpc_endpoint(each));
    addresses.push_back(endpoints.back()->address());
  }
  const auto join = [&](std::unique_ptr<GrpcEndpoint> endpoint) {
    return failure_of([&] {
      endpoint->connect(addresses);
      const auto sum =
          make_schedule_communicator(make_schedule("ring", 2), std::move(endpoint), "");
      EXPECT_EQ(all_reduce_error(*sum, DataType::f32, ReduceOp::sum, 5000, true), "");
    });
  };
  Outcomes outcomes;
  std::thread other([&] { outcomes.one = join(std::move(endpoints[1])); });
  outcomes.zero = join(std::move(endpoints[0]));
  other.join();
  return outcomes;
}

class GrpcTlsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (Certificates::possible()) certificates = new Certificates();
  }
  static void TearDownTestSuite() { delete certificates; }
  void SetUp() override {
    if (certificates == nullptr) GTEST_SKIP() << "there is no openssl command";
  }
  /// Rank 0 is in order, rank 1 has `texts`: neither joins, and both say for whom they waited.
  static void expect_refused(const TlsTexts& texts, const std::string& why) {
    const TlsTexts good = certificates->worker();
    const Outcomes outcomes =
        join_two([&](GrpcOptions& options) { options.tls = good; },
                 [&](GrpcOptions& options) { options.tls = texts; }, Seconds{2.5});
    // Who gives up first tells the other, where that one may be told.
    const auto waited =
        AnyOf(HasSubstr("for rank 1 at 127.0.0.1:"), HasSubstr("for rank 0 at 127.0.0.1:"));
    EXPECT_THAT(outcomes.zero, waited) << why;
    EXPECT_THAT(outcomes.one, waited) << why;
  }
  static Certificates* certificates;
};
Certificates* GrpcTlsTest::certificates = nullptr;

TEST_F(GrpcTlsTest, RanksWithCertificatesOfOneAuthorityAllReduce) {
  for (const bool mutual : {true, false}) {
    const auto use = [&](GrpcOptions& options) {
      options.tls = certificates->worker();
      options.tls.mutual = mutual;
    };
    const Outcomes outcomes = join_two(use, use);
    EXPECT_EQ(outcomes.zero, "");
    EXPECT_EQ(outcomes.one, "");
  }
}

TEST_F(GrpcTlsTest, BuffersAreFetchedOverTlsToo) {
  const TlsTexts texts = certificates->worker();
  on_grpc_ranks(
      3,
      [](std::unique_ptr<GrpcEndpoint> endpoint) {
        const auto sum =
            make_schedule_communicator(make_schedule("direct", 3), std::move(endpoint), "");
        EXPECT_EQ(all_reduce_error(*sum, DataType::f32, ReduceOp::sum, 5000, true), "");
      },
      make_tf_recvbuf_endpoint, [&](GrpcOptions& options) { options.tls = texts; });
}

TEST_F(GrpcTlsTest, OneNameForAllCertificatesIsEnough) {
  const TlsTexts texts = certificates->worker("ca", "DNS:collbench");
  const auto use = [&](GrpcOptions& options) {
    options.tls = texts;
    options.tls.name = "collbench";
  };
  const Outcomes outcomes = join_two(use, use);
  EXPECT_EQ(outcomes.zero, "");
  EXPECT_EQ(outcomes.one, "");
}

TEST_F(GrpcTlsTest, ACertificateOfAnotherAuthorityIsRefused) {
  expect_refused(certificates->worker("other-ca"), "another authority");
}

TEST_F(GrpcTlsTest, AnExpiredCertificateIsRefused) {
  expect_refused(certificates->worker("ca", "IP:127.0.0.1", -1), "expired");
}

TEST_F(GrpcTlsTest, ACertificateOfAnotherNameIsRefused) {
  expect_refused(certificates->worker("ca", "DNS:elsewhere,IP:10.9.8.7"), "another name");
}

TEST_F(GrpcTlsTest, ACallerWithoutACertificateIsRefused) {
  TlsTexts texts = certificates->worker();
  texts.mutual = false;  // shows none
  expect_refused(texts, "no certificate");
}

TEST_F(GrpcTlsTest, ARankWithoutTlsIsRefused) { expect_refused(TlsTexts{}, "no TLS"); }

TEST_F(GrpcTlsTest, TextsThatDoNotFitAreNamed) {
  TlsTexts texts = certificates->worker();
  texts.key = certificates->worker().key;
  GrpcOptions options = grpc_test_options(0, 2);
  options.tls = texts;
  EXPECT_THAT(failure_of([&] { make_grpc_endpoint(options); }), HasSubstr("its key"));
  options.tls.key = "";
  EXPECT_THAT(failure_of([&] { make_grpc_endpoint(options); }), HasSubstr("there is no key"));
}

TEST(GrpcTokenTest, AMissingOrWrongTokenIsRefused) {
  for (const char* token : {"", "tes", "test ", "another"}) {
    const Outcomes outcomes =
        join_two([](GrpcOptions&) {}, [&](GrpcOptions& options) { options.job = token; });
    EXPECT_THAT(outcomes.zero, HasSubstr("its job differs")) << token;
    EXPECT_THAT(outcomes.one, HasSubstr("its job differs")) << token;
  }
}

TEST(GrpcTokenTest, BeyondLoopbackATokenIsRequired) {
  GrpcOptions options = grpc_test_options(0, 2);
  const auto way_out = AllOf(HasSubstr("--token-file"), HasSubstr("COLLBENCH_JOB_TOKEN"));
  for (const char* address : {"0.0.0.0:0", "[::]:0"}) {
    options.listen = address;
    options.job = "";
    EXPECT_THROW(make_grpc_endpoint(options), InvalidArgument);
    EXPECT_THAT(failure_of([&] { make_grpc_endpoint(options); }),
                AllOf(HasSubstr(address), HasSubstr("without a token"), way_out));
    options.job = "short";
    EXPECT_THAT(failure_of([&] { make_grpc_endpoint(options); }),
                AllOf(HasSubstr("shorter than 16"), way_out));
    options.job = "0123456789abcdef";
    EXPECT_EQ(failure_of([&] { make_grpc_endpoint(options); }), "");
  }
  options.listen = "127.0.0.1:0";
  options.job = "";
  const auto endpoint = make_grpc_endpoint(options);
  EXPECT_THAT(failure_of([&] {
                endpoint->connect({endpoint->address(), "10.0.0.1:7101"});
              }),
              AllOf(HasSubstr("10.0.0.1:7101"), way_out));
}

}  // namespace
}  // namespace collbench
