// Settings that libraries read from the environment at the start.
#ifndef MILLRACE_TOOLS_PROCESS_START_H_
#define MILLRACE_TOOLS_PROCESS_START_H_

namespace millrace {

// Variables that say how long libgomp's threads spin.
inline constexpr const char* kSpinVariables[] = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"};
// Some microseconds: measured (docs/benchmarks.md) as fast as longer spinning on an idle machine,
// and ten times faster next to a busy process.
inline constexpr char kSpinSetting[] = "GOMP_SPINCOUNT=1000";

// Sets variables that the user's environment does not set. Call this function first in main.
//
// GOMP_SPINCOUNT, unless OMP_WAIT_POLICY is set: libgomp's threads spin at the end of every
// parallel loop, for up to milliseconds. With one busy process on the machine, steps take ten times
// longer. libgomp reads the variable once, before main, so the program is restarted in the same
// process. Programs that link early_restart.cc were restarted before main already.
//
// THP_MEM_ALLOC_ENABLE: LibTorch's large tensors use huge pages if the system has them.
//
// Closed standard input, output and error become /dev/null. The limit of open files is raised
// (raise_file_limit).
//
// malloc is set to retain the memory of batches for the next batches. Memory returned to the system
// is allocated again page by page, which was a fifth of the time of reading data. Tables have
// separate memory.
//
// Returns if nothing has to be done or the restart failed.
void prepare_process(char** argv);

// Opens /dev/null in place of closed standard streams. Otherwise the next opened file would get the
// number of a stream, and printed text would be written to the file.
void open_standard_streams();

// Raises the soft limit of open files to the hard limit, at most to 65,536: the soft limit is often
// 1,024, and ranks need three files for each other rank.
void raise_file_limit();

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PROCESS_START_H_
