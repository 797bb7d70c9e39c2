// Which data comes in windows.
#ifndef MILLRACE_PROTO_DATA_WINDOWS_H_
#define MILLRACE_PROTO_DATA_WINDOWS_H_

#include "proto/config.pb.h"

namespace millrace {

// Returns true if data comes in windows: its own, or those of sources that it mixes.
bool comes_in_windows(const DataConfig& data);

// Returns true if the windows say where their files are, so that DataConfig.path does not.
bool finds_own_files(const WindowsConfig& windows);

}  // namespace millrace

#endif  // MILLRACE_PROTO_DATA_WINDOWS_H_
