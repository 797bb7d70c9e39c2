// What happens around windows: reading ahead, acknowledging, clearing away.
#ifndef MILLRACE_HOOKS_WINDOW_IO_HOOK_H_
#define MILLRACE_HOOKS_WINDOW_IO_HOOK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "framework/hook.h"
#include "io/windowed_dataset.h"
#include "proto/window_io_state.pb.h"

namespace millrace {

struct WindowIoOptions {
  std::string output_dir;
  // Called with files of the next window while the one before it is trained on; null: nobody reads
  // ahead.
  std::function<void(const std::string& path)> read_ahead;
  // Where files go whose windows need not be read again; "": they stay.
  std::string move_done_to;
  std::string move_damaged_to;
  // Paths below one of them keep what follows it when they are moved, and where there are several
  // the last name of it; of other paths the last name stays.
  std::vector<std::string> roots;
  // How many windows the oldest checkpoint holds that anybody could go on from. Needed to move.
  std::function<absl::StatusOr<int64_t>()> oldest_windows;
};

// On rank 0 of a job whose data comes in windows:
//  * looks for the next window, once a second at most, and has its files read ahead;
//  * acknowledges each window once a durable checkpoint holds all of it: a line in
//    <output_dir>/windows.jsonl, on disk when the next event comes, exactly one for each window;
//  * moves the files of windows that even the oldest checkpoint holds.
// Windows that wait for one or the other are its state.
class WindowIoHook : public Hook {
 public:
  // Borrows all but the options.
  WindowIoHook(WindowIoOptions options, WindowedDataset& windows, FileSystem& files, Clock& clock)
      : options_(std::move(options)), windows_(windows), files_(files), clock_(clock) {}

  absl::string_view name() const override { return "window_io"; }
  absl::Status start(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status save_state(HookState& state) const override;
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  void read_ahead();
  bool moves(const WindowIoState::Finished& window) const;
  absl::Status acknowledge(int64_t windows);
  absl::Status append(const WindowIoState::Finished& window);
  absl::StatusOr<int64_t> last_acknowledged();
  absl::Status move_files();
  absl::Status move_file(const std::string& path, const std::string& folder);

  const WindowIoOptions options_;
  WindowedDataset& windows_;
  FileSystem& files_;
  Clock& clock_;
  WindowIoState state_;
  int64_t acknowledged_ = -2;  // the last window in the file; -1: none; -2: not looked at
  bool ahead_ = false;         // the next window was read ahead
  absl::Duration looked_ = absl::ZeroDuration();  // the clock's elapsed()
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_WINDOW_IO_HOOK_H_
