// The C interface between a program and a plugin, by which the program gets a Hook.
#ifndef MILLRACE_PLUGIN_PLUGIN_ABI_H_
#define MILLRACE_PLUGIN_PLUGIN_ABI_H_

#include <stdint.h>

extern "C" {

// Receives an error: an absl::StatusCode and `size` bytes of text, which it copies. `where` is the
// receiver's.
typedef void (*MillracePluginFail)(void* where, int32_t code, const char* text, uint64_t size);

typedef struct MillracePluginCreate {
  uint32_t size;          // of this structure
  uint32_t reserved;      // 0
  const char* config;     // the hook's own message in text format, not ended by a zero
  uint64_t config_size;   // in bytes
  const void* resources;  // a millrace::HookResources; valid during the call
  MillracePluginFail fail;
  void* where;
} MillracePluginCreate;

typedef struct MillracePluginHook {
  const char* name;  // that of a note of the file
  // Returns a new millrace::Hook, or null after calling `fail`. Lets no exception out.
  void* (*create)(const MillracePluginCreate* arguments);
  // Ends it, and calls `fail` if that threw an exception.
  void (*destroy)(void* hook, MillracePluginFail fail, void* where);
} MillracePluginHook;

typedef struct MillracePluginTable {
  uint32_t abi_version;  // set by the program before the call, and by the plugin
  uint32_t size;         // of this structure; likewise
  uint64_t hook_count;
  const MillracePluginHook* hooks;  // alive as long as the plugin, which is never unloaded
} MillracePluginTable;

// The one function that a plugin exports. Fills the table. Returns: 0, or not 0 after calling
// `fail`. Lets no exception out.
typedef int32_t (*MillracePluginEntry)(MillracePluginTable* table, MillracePluginFail fail,
                                       void* where);
#define MILLRACE_PLUGIN_ENTRY millrace_hook_plugin_v1
}

#endif  // MILLRACE_PLUGIN_PLUGIN_ABI_H_
