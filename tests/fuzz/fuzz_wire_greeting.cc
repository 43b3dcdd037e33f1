// Fuzzes what a stranger may send when he opens a stream: any method and metadata are read without
// harm, what is told back is short and printable, and no guess is taken for a proof.
#include <map>
#include <string>

#include "tests/fuzz/fuzz_target.h"

#include "core/keyed_digest.h"
#include "transports/grpc/greeting.h"

FUZZ_TARGET(wire_greeting, input) {
  using namespace collbench;
  // Lines: the method, the metadata in the order of the names, a guess at the proof.
  const char* const names[] = {
      "method",           grpc_names::version, grpc_names::rank,     grpc_names::ranks,
      grpc_names::number, grpc_names::proof,   grpc_names::transport};
  std::map<std::string, std::string> values;
  std::size_t line = 0;
  for (std::size_t i = 0; i < input.size() && line < std::size(names); ++i) {
    if (input[i] == '\n') {
      ++line;
    } else {
      values[names[line]] += input[i];
    }
  }
  const GrpcGreeting greeting = read_greeting(values["method"], grpc_names::exchange, "raw",
                                              [&](const char* name) { return values[name]; });
  if (greeting.unfit.size() > 200) std::abort();
  for (const char c : greeting.unfit) {
    if (c < ' ' || c > '~') std::abort();
  }
  if (!greeting.unfit.empty()) return;
  if (greeting.identity.rank < 0 || greeting.identity.ranks < 1) std::abort();
  const std::string proof = caller_proof("token", greeting.identity, 3, std::string(32, '0'));
  if (proof.size() != 64 || same_secret(values[grpc_names::proof], proof)) std::abort();
  if (proof == listener_proof("token", greeting.identity, 3, std::string(32, '0'))) std::abort();
}
