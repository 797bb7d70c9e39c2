// The resources of a machine for a process, and causes of slow jobs.
#ifndef MILLRACE_TOOLS_DOCTOR_DIAGNOSIS_H_
#define MILLRACE_TOOLS_DOCTOR_DIAGNOSIS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/isa/instruction_set.h"

namespace millrace {

// Facts of a machine. An unknown value is none, or "" for texts.
struct Machine {
  std::string processor;         // its model
  int64_t cores = 0;             // of the machine
  int64_t usable_cores = 0;      // cores that this process may use
  std::optional<double> quota;   // processor time in cores that the control group may use
  std::optional<double> load;    // processes running or waiting, mean over 1 minute
  std::optional<double> stolen;  // share of time that a hypervisor took, since the start
  std::string governor;          // of the clock frequency
  std::string clock_source;      // of the kernel
  InstructionSet instruction_set = InstructionSet::kBaseline;  // the best one
  std::optional<int64_t> memory;                               // bytes of the machine
  std::optional<int64_t> available;     // bytes that may be allocated without swapping
  std::optional<int64_t> memory_limit;  // bytes, of the control group
  std::optional<int64_t> swapped;       // bytes in use of swap space
  std::string huge_pages;               // "always", "madvise" or "never"
  std::optional<int64_t> open_files;    // the soft limit, which the program raised to the hard one
  std::optional<int64_t> disk_free;     // bytes, for this user
  std::string missing_directory;        // whose disk was asked for; "": it exists
  std::string disk_parent;              // its nearest parent, if it is missing
};

// Returns the facts of this machine, and of the disk of `directory` or, if missing, of its nearest
// parent. Reads below `root`/proc and `root`/sys: "" outside of tests.
Machine read_machine(const std::string& directory, const std::string& root = "");

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
