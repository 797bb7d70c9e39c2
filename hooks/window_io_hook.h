// Reads ahead, acknowledges and moves windows.
#ifndef MILLRACE_HOOKS_WINDOW_IO_HOOK_H_
#define MILLRACE_HOOKS_WINDOW_IO_HOOK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "hook/hook.h"
#include "io/windowed_dataset.h"
#include "proto/window_io_state.pb.h"

namespace millrace {

struct WindowIoOptions {
  std::string output_dir;
  // Called with files of the next window during training on the current window; null: no
  // read-ahead.
  std::function<void(const std::string& path)> read_ahead;
  // Epochs of the data. Windows of all but the last one are recorded without files, since a later
  // epoch reads the files again.
  int64_t epochs = 1;
  // Folders for the files of windows that will not be read again; "": files stay.
  std::string move_done_to;
  std::string move_damaged_to;
  // A moved path below a root keeps the part after the root, preceded by the root's last name if
  // there are several roots. Other paths keep only their last name.
  std::vector<std::string> roots;
  // Returns the number of windows in the oldest checkpoint that a run could resume from. Required
  // for moving files.
  std::function<absl::StatusOr<int64_t>()> oldest_windows;
  // The counts of the hook window_gate, of the window with this index; null: there is no gate.
  std::shared_ptr<const WindowIoState::Finished> figures = nullptr;
};

// Handles windows on rank 0 of a job whose data comes in windows:
//  * polls for the next window, at most once a second, and starts the read-ahead of its files;
//  * reports WindowedDataset::figures(), as every rank does;
//  * acknowledges each window once a durable checkpoint holds the whole window: exactly one line
//    per window in <output_dir>/windows.jsonl, on disk before the next event. Then tells the data
//    (WindowedDataset::saved());
//  * moves the files of windows that even the oldest checkpoint holds. `start` moves an empty file
//    in the same way, before_window where no roots are known, so that a move that cannot succeed
//    ends the run before its first step.
// Windows that are not yet acknowledged or moved are the state of the hook.
class WindowIoHook : public Hook {
 public:
  // Borrows everything except the options.
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
  void report(HookContext& context);
  void read_ahead();
  bool moves(const WindowIoState::Finished& window) const;
  absl::Status acknowledge(int64_t windows);
  absl::Status append(const WindowIoState::Finished& window);
  absl::StatusOr<int64_t> last_acknowledged();
  absl::Status move_files();
  // Adds the directories that the move changes to `changed`.
  absl::Status move_file(const std::string& path, const std::string& folder,
                         std::set<std::string>* changed);
  // Checks that files of the directory `from` can be moved. Errors: those of FileSystem, with the
  // field.
  absl::Status try_moves(const std::string& from);
  absl::Status try_move(const std::string& from, const std::string& folder);

  const WindowIoOptions options_;
  WindowedDataset& windows_;
  FileSystem& files_;
  Clock& clock_;
  WindowIoState state_;
  std::map<int64_t, std::string> streams_;  // Window::stream of windows that are not saved
  int64_t reported_step_ = -1;
  int64_t acknowledged_ = -2;  // the last window in the file; -1: none; -2: not read
  bool ahead_ = false;         // the next window was read ahead
  bool tried_ = false;         // moves were tried, or will be in `start`
  absl::Duration last_read_ahead_ = absl::ZeroDuration();  // the clock's elapsed()
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_WINDOW_IO_HOOK_H_
