// Metrics in lines for people.
#ifndef MILLRACE_HOOKS_METRIC_TEXT_H_
#define MILLRACE_HOOKS_METRIC_TEXT_H_

#include <map>
#include <string>

namespace millrace {

// Returns true if `logloss` and `loss` exist and are the same text with `decimals` decimals, so
// that a line need show one of them only.
bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals);

// What becomes of a logloss that repeats the loss.
enum class RepeatedLogloss { kShown, kOmitted };

// Returns the names and values of metrics with five decimals, each behind two spaces:
// "  auc 0.76700  loss 0.47220".
std::string metrics_text(const std::map<std::string, double>& metrics, RepeatedLogloss repeated);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_METRIC_TEXT_H_
