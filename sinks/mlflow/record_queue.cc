#include "sinks/mlflow/record_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/checksum/crc32c.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr char kPrefix[] = "queue-";
constexpr char kSuffix[] = ".jsonl";
constexpr char kPosition[] = "position";
constexpr size_t kChecksumBytes = 8;

std::string checksum_of(absl::string_view record) {
  return absl::StrCat(absl::Hex(masked_crc32c(record), absl::kZeroPad8));
}

std::string record_line(absl::string_view record) {
  return absl::StrCat(checksum_of(record), " ", record, "\n");
}

// Reads the record of a line, which has no line feed. Returns false for a damaged line.
bool record_of(absl::string_view line, absl::string_view* record) {
  if (line.size() <= kChecksumBytes || line[kChecksumBytes] != ' ') return false;
  *record = line.substr(kChecksumBytes + 1);
  return line.substr(0, kChecksumBytes) == checksum_of(*record);
}

// Returns the number in the name of a segment; 0 for other files.
int64_t number_of(absl::string_view name) {
  int64_t number = 0;
  if (!absl::ConsumePrefix(&name, kPrefix) || !absl::ConsumeSuffix(&name, kSuffix) ||
      !absl::SimpleAtoi(name, &number)) {
    return 0;
  }
  return std::max<int64_t>(number, 0);
}

// Reads "NUMBER OFFSET". Both are 0 if the file is missing or damaged: all records come again.
std::pair<int64_t, int64_t> read_position(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = read_file(files, path);
  if (!text.ok()) return {0, 0};
  const std::vector<std::string> numbers = absl::StrSplit(absl::StripSuffix(*text, "\n"), ' ');
  int64_t segment = 0, offset = 0;
  if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &segment) ||
      !absl::SimpleAtoi(numbers[1], &offset)) {
    return {0, 0};
  }
  return {segment, offset};
}

}  // namespace

RecordQueue::RecordQueue(FileSystem& files, std::string directory, RecordQueueOptions options)
    : files_(files), directory_(std::move(directory)), options_(options) {}

absl::StatusOr<std::unique_ptr<RecordQueue>> RecordQueue::open(FileSystem& files,
                                                               const std::string& directory,
                                                               RecordQueueOptions options) {
  RETURN_IF_ERROR(files.create_directories(directory));
  std::unique_ptr<RecordQueue> queue(new RecordQueue(files, directory, options));
  RETURN_IF_ERROR(queue->load());
  return queue;
}

absl::Status RecordQueue::load() {
  MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(directory_));
  const auto [first, offset] = read_position(files_, join_path(directory_, kPosition));
  for (const DirectoryEntry& entry : entries) {
    const int64_t number = number_of(entry.name);
    if (number == 0) continue;
    const std::string path = join_path(directory_, entry.name);
    if (number < first) {
      RETURN_IF_ERROR(files_.remove(path));
      continue;
    }
    ASSIGN_OR_RETURN(const FileInfo info, files_.info(path));
    segments_.push_back({.number = number, .bytes = info.size_bytes});
  }
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.number < b.number; });
  next_number_ = first + 1;
  if (segments_.empty()) return absl::OkStatus();
  next_number_ = segments_.back().number + 1;
  const Segment& oldest = segments_.front();
  if (oldest.number == first && offset > 0 && offset <= oldest.bytes) offset_ = offset;
  return absl::OkStatus();
}

std::string RecordQueue::segment_path(int64_t number) const {
  return join_path(directory_, absl::StrCat(kPrefix, absl::Dec(number, absl::kZeroPad8), kSuffix));
}

absl::Status RecordQueue::open_segment() {
  // The directory may have been removed.
  RETURN_IF_ERROR(files_.create_directories(directory_));
  const Segment segment{.number = next_number_, .bytes = 0};
  ASSIGN_OR_RETURN(file_, files_.create(segment_path(segment.number)));
  segments_.push_back(segment);
  ++next_number_;
  new_file_ = true;
  return absl::OkStatus();
}

absl::Status RecordQueue::append(absl::string_view record) {
  MutexLock lock(mutex_);
  if (file_ == nullptr || segments_.back().bytes >= options_.segment_bytes) {
    if (file_ != nullptr) RETURN_IF_ERROR(std::exchange(file_, nullptr)->sync());
    RETURN_IF_ERROR(open_segment());
  }
  const std::string line = record_line(record);
  if (const absl::Status status = file_->append(line); !status.ok()) {
    // The file may end with a part of the line, so the next record begins another file.
    file_.reset();
    return status;
  }
  segments_.back().bytes += static_cast<int64_t>(line.size());
  enforce_limit();
  return absl::OkStatus();
}

void RecordQueue::enforce_limit() {
  int64_t bytes = 0;
  for (const Segment& segment : segments_) bytes += segment.bytes;
  while (bytes > options_.most_bytes && segments_.size() > 1) {
    overflow_ = overflow_ || segments_.front().bytes > offset_;
    bytes -= segments_.front().bytes;
    // A file that cannot be removed is removed by the next run.
    files_.remove(segment_path(segments_.front().number)).IgnoreError();
    segments_.pop_front();
    offset_ = 0;
  }
}

absl::Status RecordQueue::sync() {
  MutexLock lock(mutex_);
  if (file_ == nullptr) return absl::OkStatus();
  if (absl::IsNotFound(files_.link_info(segment_path(segments_.back().number)).status())) {
    file_.reset();
    segments_.pop_back();
    if (segments_.empty()) offset_ = 0;
    return absl::OkStatus();
  }
  if (const absl::Status status = file_->sync(); !status.ok()) {
    file_.reset();
    return status;
  }
  if (new_file_) RETURN_IF_ERROR(files_.sync_directory(directory_));
  new_file_ = false;
  return absl::OkStatus();
}

absl::StatusOr<RecordQueue::Batch> RecordQueue::read(const Segment& segment, int64_t offset,
                                                     size_t most_records) {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file,
                   files_.open(segment_path(segment.number)));
  std::string text;
  // A line that is longer than a read is read whole.
  while (text.find('\n') == text.npos &&
         offset + static_cast<int64_t>(text.size()) < segment.bytes) {
    const auto begin = static_cast<int64_t>(text.size());
    const int64_t count =
        std::min(std::max(options_.read_bytes, begin), segment.bytes - offset - begin);
    text.resize(static_cast<size_t>(begin + count));
    ASSIGN_OR_RETURN(const int64_t got, file->read_at(offset + begin, count, text.data() + begin));
    if (got == count) continue;
    text.resize(static_cast<size_t>(begin + got));
    break;
  }
  Batch batch{.records = {}, .segment = segment.number, .end = offset};
  absl::string_view rest = text;
  while (batch.records.size() < most_records) {
    const size_t size = rest.find('\n');
    if (size == rest.npos) break;
    absl::string_view record;
    if (record_of(rest.substr(0, size), &record)) batch.records.emplace_back(record);
    rest.remove_prefix(size + 1);
    batch.end += static_cast<int64_t>(size) + 1;
  }
  // The file ends within a line.
  if (text.find('\n') == text.npos) batch.end = segment.bytes;
  return batch;
}

bool RecordQueue::drop_finished_segment() {
  MutexLock lock(mutex_);
  if (segments_.empty() || offset_ < segments_.front().bytes) return false;
  if (segments_.size() == 1 && file_ != nullptr) return false;  // grows
  files_.remove(segment_path(segments_.front().number)).IgnoreError();
  segments_.pop_front();
  offset_ = 0;
  return true;
}

absl::StatusOr<RecordQueue::Batch> RecordQueue::peek(size_t most_records) {
  MutexLock reading(reader_mutex_);
  for (;;) {
    while (drop_finished_segment()) {
    }
    Segment segment;
    int64_t offset = 0;
    {
      MutexLock lock(mutex_);
      if (segments_.empty() || offset_ == segments_.front().bytes) return Batch();
      segment = segments_.front();
      offset = offset_;
    }
    absl::StatusOr<Batch> batch = read(segment, offset, most_records);
    MutexLock lock(mutex_);
    // The limit of the queue may have removed the file.
    const bool is_first = !segments_.empty() && segments_.front().number == segment.number;
    if (!is_first) continue;
    if (absl::IsNotFound(batch.status())) {
      // The file and its records were removed. sync() makes append() begin another file.
      offset_ = segments_.front().bytes;
      continue;
    }
    RETURN_IF_ERROR(batch.status());
    if (!batch->records.empty()) return batch;
    offset_ = batch->end;  // damaged lines alone
  }
}

absl::Status RecordQueue::remove(const Batch& batch) {
  MutexLock reading(reader_mutex_);
  {
    MutexLock lock(mutex_);
    if (segments_.empty() || segments_.front().number != batch.segment || batch.end <= offset_) {
      return absl::OkStatus();
    }
    offset_ = batch.end;
  }
  return save_position(batch.segment, batch.end);
}

absl::Status RecordQueue::save_position(int64_t segment, int64_t offset) {
  // If somebody removed the directory, there are no records that could come again.
  if (absl::IsNotFound(files_.link_info(directory_).status())) return absl::OkStatus();
  return write_file_atomically(files_, join_path(directory_, kPosition),
                               absl::StrCat(segment, " ", offset, "\n"));
}

absl::Status RecordQueue::for_each(const std::deque<Segment>& segments, int64_t offset,
                                   const std::function<absl::Status(const std::string&)>& call) {
  for (const Segment& segment : segments) {
    for (int64_t end = offset; end < segment.bytes;) {
      const absl::StatusOr<Batch> batch = read(segment, end, SIZE_MAX);
      if (absl::IsNotFound(batch.status())) break;  // somebody removed the file
      RETURN_IF_ERROR(batch.status());
      for (const std::string& record : batch->records) RETURN_IF_ERROR(call(record));
      end = batch->end;
    }
    offset = 0;
  }
  return absl::OkStatus();
}

absl::Status RecordQueue::remove_if(const std::function<bool(absl::string_view)>& unwanted) {
  MutexLock reading(reader_mutex_);
  std::deque<Segment> segments;
  int64_t offset = 0, next = 0;
  {
    MutexLock lock(mutex_);
    file_.reset();
    segments = segments_;
    offset = offset_;
    next = next_number_;
  }
  bool any = false;
  RETURN_IF_ERROR(for_each(segments, offset, [&](const std::string& record) {
    any = any || unwanted(record);
    return absl::OkStatus();
  }));
  if (!any) return absl::OkStatus();
  int64_t kept_bytes = 0;
  const std::string path = segment_path(next);
  RETURN_IF_ERROR(write_file_atomically(files_, path, [&](WritableFile& kept) {
    return for_each(segments, offset, [&](const std::string& record) {
      if (unwanted(record)) return absl::OkStatus();
      const std::string line = record_line(record);
      kept_bytes += static_cast<int64_t>(line.size());
      return kept.append(line);
    });
  }));
  // A queue opened after this ignores the older segments.
  RETURN_IF_ERROR(save_position(next, 0));
  for (const Segment& segment : segments) {
    files_.remove(segment_path(segment.number)).IgnoreError();
  }
  MutexLock lock(mutex_);
  segments_ = {{.number = next, .bytes = kept_bytes}};
  offset_ = 0;
  next_number_ = next + 1;
  return absl::OkStatus();
}

int64_t RecordQueue::bytes() const {
  MutexLock lock(mutex_);
  int64_t bytes = -offset_;
  for (const Segment& segment : segments_) bytes += segment.bytes;
  return bytes;
}

bool RecordQueue::take_overflow() {
  MutexLock lock(mutex_);
  return std::exchange(overflow_, false);
}

}  // namespace millrace
