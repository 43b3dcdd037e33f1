// What collbench itself chooses: the best that is known about the question.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"
#include "heuristics/policies/choose.h"
#include "heuristics/policies/local_times.h"
#include "heuristics/policies/policy.h"

namespace collbench {
namespace {

bool is_measured(const Question& question) {
  return std::any_of(question.measured.begin(), question.measured.end(),
                     [&](const MeasuredTime& row) {
                       return row.algorithm != "auto" && row.scale.ranks == question.workers &&
                              (row.scale.nodes == 0 || row.scale.nodes == question.nodes) &&
                              (question.backend.empty() || row.library == question.backend);
                     });
}

}  // namespace

Answer ask_auto(const Question& question) {
  if (is_measured(question)) return ask_measured(question);
  if (question.machine != nullptr) {
    Answer answer = ask_model(question);
    answer.reason = "predicted: " + answer.reason;
    if (!question.measured.empty()) {
      answer.warnings.push_back(fmt::format(
          "{} workers were not measured; the choice is by the model", question.workers));
    }
    return answer;
  }
  const std::vector<MeasuredTime> local = local_times(question.backend, question.cores);
  Question here = question;
  here.measured = local;
  if (is_measured(here)) return ask_measured(here);
  require(!question.backend.empty(),
          "the network is unknown: name a machine (--topo), measurements (--measured) or "
          "a back end of this host (--backend)");
  const Choice choice =
      choose(question.backend, question.kind, question.workers, question.bytes, question.type,
             question.op, question.cores > 0 ? question.cores : question.workers);
  Answer answer;
  answer.algorithm = choice.algorithm;
  answer.reason = choice.reason;
  answer.candidates.push_back({choice.algorithm, "", {}, "", refusal(question, choice.algorithm)});
  require(answer.candidates.front().refused.empty(),
          fmt::format("the rule chooses {}, which is refused: {}", choice.algorithm,
                      answer.candidates.front().refused));
  answer.warnings.emplace_back(
      "a rule of thumb: this many workers on this many cores are not measured");
  return answer;
}

}  // namespace collbench
