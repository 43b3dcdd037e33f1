// Runs one function per rank on threads of this process, joined by gRPC over loopback.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "transports/grpc/grpc_endpoint.h"
#include "transports/waiting.h"

namespace collbench {

using MakeGrpcEndpoint = std::unique_ptr<GrpcEndpoint> (*)(const GrpcOptions&);

/// Options of rank `rank`, impatient enough for tests.
inline GrpcOptions grpc_test_options(Rank rank, int ranks) {
  GrpcOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.job = "test";
  options.timeout = Seconds{20.0};
  return options;
}

/// What `action` throws; "" for nothing.
inline std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Calls body(endpoint) for every rank, all joined; what each rank threw, empty for none.
inline std::vector<std::string> try_on_grpc_ranks(
    int ranks, const std::function<void(std::unique_ptr<GrpcEndpoint>)>& body,
    MakeGrpcEndpoint make = make_grpc_endpoint,
    const std::function<void(GrpcOptions&)>& change = [](GrpcOptions&) {}) {
  std::vector<std::unique_ptr<GrpcEndpoint>> endpoints;
  std::vector<std::string> addresses;
  for (Rank r = 0; r < ranks; ++r) {
    GrpcOptions options = grpc_test_options(r, ranks);
    change(options);
    endpoints.push_back(make(options));
    addresses.push_back(endpoints.back()->address());
  }
  std::vector<std::string> failures(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < endpoints.size(); ++r) {
    threads.emplace_back([&, r] {
      take_short_turns();
      std::unique_ptr<GrpcEndpoint> endpoint = std::move(endpoints[r]);
      try {
        endpoint->connect(addresses);
        body(std::move(endpoint));
      } catch (const std::exception& error) {
        failures[r] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failures;
}

/// The same, throwing the first rank's failure.
inline void on_grpc_ranks(
    int ranks, const std::function<void(std::unique_ptr<GrpcEndpoint>)>& body,
    MakeGrpcEndpoint make = make_grpc_endpoint,
    const std::function<void(GrpcOptions&)>& change = [](GrpcOptions&) {}) {
  for (const std::string& failure : try_on_grpc_ranks(ranks, body, make, change)) {
    if (!failure.empty()) throw std::runtime_error(failure);
  }
}

}  // namespace collbench
