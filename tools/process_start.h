// What libraries read from the environment before anything else.
#ifndef MILLRACE_TOOLS_PROCESS_START_H_
#define MILLRACE_TOOLS_PROCESS_START_H_

namespace millrace {

// Call it first in main. Sets what the user's environment does not:
//
// GOMP_SPINCOUNT, unless OMP_WAIT_POLICY is set: libgomp's threads spin at the end of every
// parallel loop, up to milliseconds; with one busy neighbour on the machine, that makes steps ten
// times slower. It is read once, before main: so the program starts anew in the same process.
//
// THP_MEM_ALLOC_ENABLE: LibTorch's large tensors take huge pages where the system has them.
//
// Standard input, output and error that are closed become /dev/null.
//
// And tells malloc to keep what batches are made of for the next ones: given back to the system, it
// comes back page by page, which was a fifth of the time of reading data. Tables have memory of
// their own.
//
// Returns if there is nothing to do or the restart failed.
void prepare_process(char** argv);

// Opens /dev/null in the place of a standard stream that is closed: the next file that is opened
// would get its number, and what is printed would go into that file.
void open_standard_streams();

}  // namespace millrace

#endif  // MILLRACE_TOOLS_PROCESS_START_H_
