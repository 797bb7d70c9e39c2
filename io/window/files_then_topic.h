// Windows of files, and then of a Kafka topic.
#ifndef MILLRACE_IO_WINDOW_FILES_THEN_TOPIC_H_
#define MILLRACE_IO_WINDOW_FILES_THEN_TOPIC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "io/window/kafka_window_source.h"
#include "io/window/window_source.h"

namespace millrace {

// The windows of a list of files, then the windows of a topic. A position in the topic has
// WindowPosition.next_offset, and whole paths as the names of its files.
class FilesThenTopic : public WindowSource {
 public:
  // `make_files` makes the list, unless the stream resumes in the topic: the files may be gone
  // then.
  using MakeFiles = std::function<absl::StatusOr<std::unique_ptr<WindowSource>>()>;
  FilesThenTopic(MakeFiles make_files, std::unique_ptr<KafkaWindowSource> topic)
      : make_files_(std::move(make_files)), topic_(std::move(topic)) {}

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  absl::StatusOr<Found> look_ahead(WindowPosition& position) override;
  std::string path_of(const std::string& name) const override { return name; }
  bool has_files(const WindowPosition& position) const override { return !is_of_topic(position); }
  void set_format(const WindowPosition& position, DataConfig& data) const override;
  void saved(const WindowPosition& position) override;
  std::vector<StreamFigure> figures() const override { return topic_->figures(); }
  const std::string& waits_for() const override { return topic_->waits_for(); }
  int64_t seen() const override { return topic_->seen(); }

 private:
  // find(), which may change `position` if it finds no window.
  absl::StatusOr<Found> find_next(bool no_more, WindowPosition& position);
  static bool is_of_topic(const WindowPosition& position) {
    return position.next_offset_size() > 0;
  }

  const MakeFiles make_files_;
  std::unique_ptr<WindowSource> files_;  // null: not needed yet
  const std::unique_ptr<KafkaWindowSource> topic_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_FILES_THEN_TOPIC_H_
