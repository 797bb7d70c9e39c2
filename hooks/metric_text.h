// Metrics in lines for people.
#ifndef MILLRACE_HOOKS_METRIC_TEXT_H_
#define MILLRACE_HOOKS_METRIC_TEXT_H_

#include <map>
#include <string>

namespace millrace {

// Returns true if `logloss` and `loss` exist and are the same text with `decimals` decimals, so that a
// line need show one of them only.
bool logloss_repeats_loss(const std::map<std::string, double>& metrics, int decimals);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_METRIC_TEXT_H_
