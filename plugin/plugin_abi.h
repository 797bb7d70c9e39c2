// The C interface through which a program gets a Hook from a plugin.
#ifndef MILLRACE_PLUGIN_PLUGIN_ABI_H_
#define MILLRACE_PLUGIN_PLUGIN_ABI_H_

#include <stdint.h>

extern "C" {

// Receives an error: an absl::StatusCode and `size` bytes of text, which are copied. `where`
// belongs to the receiver.
typedef void (*MillracePluginFail)(void* where, int32_t code, const char* text, uint64_t size);

typedef struct MillracePluginCreate {
  uint32_t size;          // of this structure
  uint32_t reserved;      // 0
  const char* config;     // the hook's configuration in text format, not zero-terminated
  uint64_t config_size;   // in bytes
  const void* resources;  // a millrace::HookResources; valid during the call
  MillracePluginFail fail;
  void* where;
} MillracePluginCreate;

typedef struct MillracePluginHook {
  const char* name;  // name in a note of the file
  // Returns a new millrace::Hook, or null after calling `fail`. Never throws.
  void* (*create)(const MillracePluginCreate* arguments);
  // Destroys `hook`. Calls `fail` if the destructor threw an exception.
  void (*destroy)(void* hook, MillracePluginFail fail, void* where);
} MillracePluginHook;

typedef struct MillracePluginTable {
  uint32_t abi_version;  // set by the program before the call, and by the plugin
  uint32_t size;         // of this structure; set as abi_version
  uint64_t hook_count;
  const MillracePluginHook* hooks;  // alive as long as the plugin, which is never unloaded
} MillracePluginTable;

// The only function that a plugin exports. Fills the table. Returns: 0, or another value after
// calling `fail`. Never throws.
typedef int32_t (*MillracePluginEntry)(MillracePluginTable* table, MillracePluginFail fail,
                                       void* where);
#define MILLRACE_PLUGIN_ENTRY millrace_hook_plugin_v1
}

#endif  // MILLRACE_PLUGIN_PLUGIN_ABI_H_
