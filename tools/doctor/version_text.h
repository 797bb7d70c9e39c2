// The identity of this program.
#ifndef MILLRACE_TOOLS_DOCTOR_VERSION_TEXT_H_
#define MILLRACE_TOOLS_DOCTOR_VERSION_TEXT_H_

#include <string>

namespace millrace {

// Returns "millrace VERSION" and a line each for the build, the instruction set of this machine,
// and the versions of LibTorch and Arrow.
std::string version_text();

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DOCTOR_VERSION_TEXT_H_
