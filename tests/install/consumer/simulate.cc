// An all-reduce of one's own: proved, predicted and simulated. docs/library.md shows this program.
#include <iostream>
#include <numeric>

#include <collbench/algorithms/verify.h>
#include <collbench/heuristics/predict.h>
#include <collbench/simulator/simulate.h>
#include <collbench/topologies/specification.h>

using namespace collbench;

int main() {
  // Every rank sends the whole vector to rank 0, which adds them up and sends the sum back.
  const Schedule schedule("central", {8, 1, 2}, [](Rank rank, int round, Round& out) {
    for (Rank peer = 1; peer < 8 && rank == 0; ++peer) {
      round == 0 ? out.recv_reduce(peer, {0, 1}) : out.send(peer, {0, 1});
    }
    if (rank != 0) round == 0 ? out.send(0, {0, 1}) : out.recv(0, {0, 1});
  });
  const Verification proof = verify_allreduce(schedule);
  if (!proof.ok()) std::cerr << proof.violations.front().what << "\n";

  const Machine network = machine("star:8,100Gbps,5us");
  std::vector<Host> hosts(8);
  std::iota(hosts.begin(), hosts.end(), 0);
  const std::int64_t count = 1 << 20;  // f32: 4 MiB
  const Prediction predicted = predict(schedule, network, hosts, {.count = count});
  const Scenario scenario{
      .schedule = schedule, .machine = network, .placement = hosts, .count = count};
  const Outcome simulated = simulate(scenario);
  std::cout << (proof.ok() ? "proven" : "refuted") << "; predicted "
            << predicted.time().count() * 1e6 << " us, simulated " << simulated.time.count() * 1e6
            << " us\n"
            << explain_bottleneck(scenario, simulated) << "\n";
}
