// Configurations whose data comes in windows.
#ifndef MILLRACE_PROTO_DATA_WINDOWS_H_
#define MILLRACE_PROTO_DATA_WINDOWS_H_

#include "proto/config.pb.h"

namespace millrace {

// Returns true if data comes in windows: its own windows, or windows of sources that it mixes.
bool comes_in_windows(const DataConfig& data);

// Returns true if the window source finds its files without DataConfig.path.
bool finds_own_files(const WindowsConfig& windows);

// Returns true if the windows are those of a fixed list of files, which can begin again.
bool is_list_of_windows(const DataConfig& data);

// Returns true if the gate has anything to check.
bool has_limits(const WindowGateConfig& gate);

}  // namespace millrace

#endif  // MILLRACE_PROTO_DATA_WINDOWS_H_
