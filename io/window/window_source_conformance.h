// The conformance suite of window sources.
#ifndef MILLRACE_IO_WINDOW_WINDOW_SOURCE_CONFORMANCE_H_
#define MILLRACE_IO_WINDOW_WINDOW_SOURCE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "base/memory_file_system_testing.h"
#include "io/window/window_source.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct WindowSourceConformance {
  // Makes the source under test, a new one at each call, over a stream of which at least the first
  // part has arrived.
  std::function<std::unique_ptr<WindowSource>(MemoryFileSystem& files)> make;
  // Lets a part of the stream arrive in `files`: part 0 first, then one after the other. Each part
  // completes at least one window. The stream ends with the last part.
  std::function<void(MemoryFileSystem& files, int part)> arrive;
  // The number of parts. 1: all windows are there from the start.
  int parts = 3;
};

// Returns the promises of WindowSource: find() gives a window again from the same position, sets
// the documented fields alone, and leaves a position without a window as it is; consecutive windows
// repeat no file, except the rest of a file divided by rows; a new source continues from each
// position that a checkpoint holds; files are where path_of() says; a source ends where nothing
// more is waited for, and an ended stream stays so; a position whose own state is damaged is
// refused as InvalidArgument without a change, or gives a window of the stream, or none; and, with
// several parts, waits_for() has a text after kNotYet, and seen() changes with a new window, and
// not without news.
std::vector<Property> window_source_properties(const WindowSourceConformance& conformance);

// Registers them as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kManifest = register_window_source_conformance(
//       "Manifest", {.make = open_manifest, .arrive = append_to_manifest});
bool register_window_source_conformance(
    const std::string& suite, const WindowSourceConformance& conformance,
    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_WINDOW_SOURCE_CONFORMANCE_H_
