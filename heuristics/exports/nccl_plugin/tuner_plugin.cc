// libnccl-tuner-collbench.so: makes NCCL follow a file of rules, and leaves everything else to it.
//
// The file is NCCL_TUNER_CONFIG_FILE, or ./nccl_tuner.conf where that exists. One with an error
// fails the communicator with the line in NCCL's log, because rules that are silently dropped are
// worse than none. Thread safety: a context is only read after init.
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "heuristics/exports/nccl_plugin/tuner_interface.h"
#include "heuristics/exports/nccl_plugin/tuner_rules.h"

namespace collbench {
namespace {

constexpr CollbenchNcclResult success = 0;
constexpr CollbenchNcclResult invalid_argument = 4;
constexpr int log_warning = 2;
constexpr int log_information = 3;
constexpr unsigned long log_tuning = 64;

struct TunerContext {
  std::vector<TunerRule> rules;
  std::int64_t ranks = 0;
  std::int64_t nodes = 0;
};

void say(CollbenchNcclLogger logger, int level, const std::string& text) {
  if (logger != nullptr) {
    logger(level, log_tuning, "tuner_plugin.cc", 0, "TUNER/collbench: %s", text.c_str());
  }
}

/// Fills `rules` from the file of the environment. False, with the reason logged, if it is wrong.
bool read_rules(CollbenchNcclLogger logger, std::vector<TunerRule>& rules) {
  const char* named = std::getenv("NCCL_TUNER_CONFIG_FILE");
  const std::string path = named != nullptr ? named : "nccl_tuner.conf";
  std::ifstream file(path);
  if (!file) {
    if (named == nullptr) return true;
    say(logger, log_warning, "cannot read '" + path + "' (NCCL_TUNER_CONFIG_FILE)");
    return false;
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  try {
    rules = parse_tuner_rules(text, path);
  } catch (const TunerFileError& e) {
    say(logger, log_warning, e.what());
    return false;
  }
  say(logger, log_information, std::to_string(rules.size()) + " rules of '" + path + "'");
  return true;
}

CollbenchNcclResult start(std::size_t ranks, std::size_t nodes, CollbenchNcclLogger logger,
                          void** context) try {
  if (context == nullptr) return invalid_argument;
  *context = nullptr;
  auto made = std::make_unique<TunerContext>();
  made->ranks = static_cast<std::int64_t>(ranks);
  made->nodes = static_cast<std::int64_t>(nodes);
  if (!read_rules(logger, made->rules)) return invalid_argument;
  *context = made.release();
  return success;
} catch (...) {  // no exception may cross into NCCL
  say(logger, log_warning, "out of memory");
  return invalid_argument;
}

CollbenchNcclResult start_v5(void** context, std::uint64_t /*communicator*/, std::size_t ranks,
                             std::size_t nodes, CollbenchNcclLogger logger, void* /*nvlink_domain*/,
                             void* /*constants*/) {
  return start(ranks, nodes, logger, context);
}

/// Gives the pair that the first fitting rule names the cost 0. A pair that NCCL cannot use stays
/// unused, and channels stay NCCL's unless the rule sets them.
CollbenchNcclResult ask(void* context, int collective, std::size_t bytes, int pipe_ops,
                        float** costs, int algorithms, int protocols, int registered_buffers,
                        int* channels) {
  if (context == nullptr || costs == nullptr) return invalid_argument;
  const TunerContext& known = *static_cast<const TunerContext*>(context);
  const TunerRule* rule = find_rule(
      known.rules, {collective, bytes, known.nodes, known.ranks, pipe_ops, registered_buffers});
  if (rule == nullptr || rule->algorithm >= algorithms || rule->protocol >= protocols) {
    return success;
  }
  float& cost = reinterpret_cast<float*>(costs)[rule->algorithm * protocols + rule->protocol];
  if (cost < 0) return success;
  cost = 0;
  if (rule->channels > 0 && channels != nullptr) *channels = rule->channels;
  return success;
}

CollbenchNcclResult stop(void* context) {
  delete static_cast<TunerContext*>(context);
  return success;
}

}  // namespace
}  // namespace collbench

extern "C" {
const CollbenchTunerV4 ncclTunerPlugin_v4{"collbench", collbench::start, collbench::ask,
                                          collbench::stop};
const CollbenchTunerV5 ncclTunerPlugin_v5{"collbench", collbench::start_v5, collbench::ask,
                                          collbench::stop};
}
