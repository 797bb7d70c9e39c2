// What an error of a hook leads to.
#ifndef MILLRACE_FRAMEWORK_ON_ERROR_H_
#define MILLRACE_FRAMEWORK_ON_ERROR_H_

namespace millrace {

enum class OnError {
  kFail,     // the run ends with it
  kWarn,     // it is logged and counted; the run goes on
  kDisable,  // the same, and the hook gets no further event of the run but `end`
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_ON_ERROR_H_
