// Restarts the program with GOMP_SPINCOUNT (process_start.h) before any library is initialised.
//
// LibTorch registers its operators when it is initialised, which takes a quarter of a second: a
// restart from main would do so twice. Functions in .preinit_array run before the constructors of
// all libraries.
#include <sys/syscall.h>
#include <unistd.h>

#include "tools/process_start.h"

namespace millrace {
namespace {

// Returns true if an entry `NAME=VALUE` of the environment has this name.
__attribute__((no_sanitize("address", "undefined", "thread"))) bool has_name(const char* entry,
                                                                             const char* name) {
  while (*name != '\0' && *entry == *name) ++entry, ++name;
  return *name == '\0' && *entry == '=';
}

// Calls no function of a library, since none is initialised.
__attribute__((no_sanitize("address", "undefined", "thread"))) void restart(int, char** argv,
                                                                            char** environment) {
  int count = 0;
  for (; environment[count] != nullptr; ++count) {
    for (const char* name : kSpinVariables) {
      if (has_name(environment[count], name)) return;
    }
  }
  char** const changed = static_cast<char**>(__builtin_alloca((count + 2) * sizeof(char*)));
  for (int i = 0; i < count; ++i) changed[i] = environment[i];
  changed[count] = const_cast<char*>(kSpinSetting);
  changed[count + 1] = nullptr;
  ::syscall(SYS_execve, "/proc/self/exe", argv, changed);
}

__attribute__((section(".preinit_array"), used)) void (*const kRestart)(int, char**,
                                                                        char**) = &restart;

}  // namespace
}  // namespace millrace
