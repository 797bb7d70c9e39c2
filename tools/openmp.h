// Keeps OpenMP from burning the time of others.
#ifndef MILLRACE_TOOLS_OPENMP_H_
#define MILLRACE_TOOLS_OPENMP_H_

namespace millrace {

// libgomp's threads spin at the end of every parallel loop, up to milliseconds; with one busy
// neighbour on the machine, that makes steps ten times slower. How long is read from the environment
// once, before main: so this sets it and, if it was not set, starts the program anew in the same
// process. GOMP_SPINCOUNT or OMP_WAIT_POLICY set by the user are left as they are.
// Call it first in main. Returns if there is nothing to do or the restart failed.
void limit_openmp_spinning(char** argv);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OPENMP_H_
