#include "io/window/files_then_topic.h"

#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::StatusOr<Found> FilesThenTopic::find(bool no_more, WindowPosition& position) {
  WindowPosition next = position;
  ASSIGN_OR_RETURN(const Found found, find_next(no_more, next));
  if (found == Found::kWindow) position = std::move(next);
  return found;
}

absl::StatusOr<Found> FilesThenTopic::find_next(bool no_more, WindowPosition& position) {
  if (!is_of_topic(position)) {
    // A mistake is an error at once, not behind the last file, and the offsets stay as they are.
    if (position.start_offset_size() == 0) RETURN_IF_ERROR(topic_->note_start(position));
    if (files_ == nullptr) {
      ASSIGN_OR_RETURN(files_, make_files_());
    }
    ASSIGN_OR_RETURN(const Found found, files_->find(no_more, position));
    if (found != Found::kEnded) return found;
  }
  ASSIGN_OR_RETURN(const Found found, topic_->find(no_more, position));
  if (found != Found::kWindow) return found;
  for (WindowPosition::File& file : *position.mutable_file()) {
    file.set_name(topic_->path_of(file.name()));
  }
  // These fields are left from the last window of files.
  position.clear_begin_row();
  position.clear_end_row();
  position.clear_rest_files();
  position.clear_rest_row();
  return Found::kWindow;
}

absl::StatusOr<Found> FilesThenTopic::look_ahead(WindowPosition& position) {
  if (is_of_topic(position) || files_ == nullptr) return Found::kNotYet;
  return files_->look_ahead(position);
}

void FilesThenTopic::set_format(const WindowPosition& position, DataConfig& data) const {
  if (is_of_topic(position)) topic_->set_format(position, data);
}

void FilesThenTopic::saved(const WindowPosition& position) {
  if (is_of_topic(position)) topic_->saved(position);
}

}  // namespace millrace
