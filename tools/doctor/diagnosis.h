// Causes of slow jobs on a machine.
#ifndef MILLRACE_TOOLS_DOCTOR_DIAGNOSIS_H_
#define MILLRACE_TOOLS_DOCTOR_DIAGNOSIS_H_

#include <string>
#include <vector>

#include "tools/doctor/machine.h"

namespace millrace {

// A line of a diagnosis. `advice`: what is slow or may fail, the cause and the remedy; "": none.
struct Finding {
  std::string name;   // "huge pages"
  std::string value;  // "never"
  std::string advice;
};

// Returns a line per known fact of the machine.
std::vector<Finding> diagnose(const Machine& machine);

// Returns the lines for people: names and values, then the advice.
std::string diagnosis_text(const std::vector<Finding>& findings);

// Returns a JSON object: name, with "_" for spaces, → {"value", "advice"}.
std::string diagnosis_json(const std::vector<Finding>& findings);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_DOCTOR_DIAGNOSIS_H_
