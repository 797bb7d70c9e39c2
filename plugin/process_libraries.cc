#include "plugin/process_libraries.h"

#include <dlfcn.h>
#include <link.h>

namespace millrace {
namespace {

// glibc has made the addresses of the dynamic section absolute where it is writable.
const char* string_table(const dl_phdr_info& info, const ElfW(Dyn) * dynamic) {
  for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    const ElfW(Addr) at = entry->d_un.d_ptr;
    return reinterpret_cast<const char*>(at < info.dlpi_addr ? at + info.dlpi_addr : at);
  }
  return nullptr;
}

int add_library(dl_phdr_info* info, size_t, void* names) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* dynamic =
        reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const char* strings = string_table(*info, dynamic);
    for (const ElfW(Dyn)* entry = dynamic; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != DT_SONAME || strings == nullptr) continue;
      static_cast<std::set<std::string>*>(names)->insert(strings + entry->d_un.d_val);
    }
  }
  return 0;
}

}  // namespace

std::set<std::string> loaded_libraries() {
  std::set<std::string> names;
  ::dl_iterate_phdr(&add_library, &names);
  return names;
}

bool process_has_symbol(const std::string& name) {
  ::dlerror();
  return ::dlsym(RTLD_DEFAULT, name.c_str()) != nullptr || ::dlerror() == nullptr;
}

}  // namespace millrace
