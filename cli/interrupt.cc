#include "cli/interrupt.h"

#include <csignal>

#include "cli/exit_code.h"

namespace collbench {
namespace {

volatile std::sig_atomic_t caught = 0;

extern "C" void note_signal(int number) { caught = number; }

}  // namespace

void watch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string interrupted_by() {
  const int number = caught;
  return number == 0 ? "" : (number == SIGINT ? "SIGINT" : "SIGTERM");
}

int interrupt_exit_code() { return caught == SIGINT ? exit_interrupted : exit_terminated; }

}  // namespace collbench
