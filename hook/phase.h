// Phase of the loop.
#ifndef MILLRACE_HOOK_PHASE_H_
#define MILLRACE_HOOK_PHASE_H_

namespace millrace {

enum class Phase { kTrain, kEvaluate };

}  // namespace millrace

#endif  // MILLRACE_HOOK_PHASE_H_
