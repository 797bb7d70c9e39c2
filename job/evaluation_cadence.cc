#include "job/evaluation_cadence.h"

namespace millrace {

Cadence evaluation_cadence(const EvaluationConfig& evaluation, absl::string_view set) {
  for (const EvaluationConfig::Set& own : evaluation.set()) {
    if (own.name() == set) return Cadence::from_config(own.when());
  }
  return Cadence::from_config_or(evaluation.has_when(), evaluation.when(), {.at_end = true});
}

}  // namespace millrace
