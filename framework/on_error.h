// Effect of an error of a hook.
#ifndef MILLRACE_FRAMEWORK_ON_ERROR_H_
#define MILLRACE_FRAMEWORK_ON_ERROR_H_

namespace millrace {

enum class OnError {
  kFail,     // the error ends the run
  kWarn,     // the error is logged and counted; the run continues
  kDisable,  // as kWarn, and of further events the hook gets only `end`
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_ON_ERROR_H_
