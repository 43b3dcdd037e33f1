// A program of someone else: proves a ring, with nothing but the installed library.
#include <iostream>

#include <collbench/algorithms/registry.h>
#include <collbench/algorithms/verify.h>

int main() {
  const collbench::Schedule ring = collbench::make_schedule("ring", 8);
  const bool proven = collbench::verify_allreduce(ring).ok();
  std::cout << ring.name() << " over " << ring.ranks() << " ranks in " << ring.rounds()
            << " rounds: " << (proven ? "proven" : "refuted") << "\n";
  return proven ? 0 : 1;
}
