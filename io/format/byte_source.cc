#include "io/format/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int64_t kReadBytes = 256 << 10;

// Reads ahead, since records are small.
class PlainBytes : public ByteSource {
 public:
  PlainBytes(ReadableFile& file, int64_t offset)
      : file_(file), offset_(offset), buffer_(new char[kReadBytes]) {}

  absl::StatusOr<int64_t> read(absl::Span<char> out) override {
    int64_t done = 0;
    while (done < static_cast<int64_t>(out.size())) {
      if (next_ == filled_) RETURN_IF_ERROR(fill());
      if (filled_ == 0) break;
      const int64_t count = std::min<int64_t>(out.size() - done, filled_ - next_);
      std::memcpy(out.data() + done, buffer_.get() + next_, count);
      done += count;
      next_ += count;
    }
    return done;
  }

  // The bytes read ahead and not handed out, all of them at once; none at the end.
  absl::StatusOr<absl::string_view> take() {
    if (next_ == filled_) RETURN_IF_ERROR(fill());
    const absl::string_view bytes(buffer_.get() + next_, filled_ - next_);
    next_ = filled_;
    return bytes;
  }

  int64_t offset() const { return offset_; }  // behind what was read ahead

 private:
  absl::Status fill() {
    const int64_t wanted = std::clamp<int64_t>(file_.size_bytes() - offset_, 0, kReadBytes);
    ASSIGN_OR_RETURN(filled_, file_.read_at(offset_, wanted, buffer_.get()));
    if (filled_ < wanted) {
      return absl::DataLossError("the file became shorter while it was being read");
    }
    offset_ += filled_;
    next_ = 0;
    return absl::OkStatus();
  }

  ReadableFile& file_;
  int64_t offset_;
  const std::unique_ptr<char[]> buffer_;
  int64_t next_ = 0;
  int64_t filled_ = 0;
};

class GzipBytes : public ByteSource {
 public:
  explicit GzipBytes(ReadableFile& file) : input_(file, 0) {}
  ~GzipBytes() override {
    if (open_) inflateEnd(&stream_);
  }

  absl::StatusOr<int64_t> read(absl::Span<char> out) override {
    if (!open_) {
      if (inflateInit2(&stream_, kGzipWindow) != Z_OK) {
        return out_of_memory("decompressing");
      }
      open_ = true;
    }
    int64_t done = 0;
    while (done < static_cast<int64_t>(out.size()) && !at_end_) {
      // zlib counts in 32 bits.
      const int64_t room = std::min<int64_t>(out.size() - done, 1 << 30);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      stream_.avail_out = static_cast<uInt>(room);
      RETURN_IF_ERROR(inflate_some());
      done += room - stream_.avail_out;
    }
    return done;
  }

 private:
  static constexpr int kGzipWindow = 15 + 16;  // the largest, with gzip's header

  absl::Status inflate_some() {
    if (stream_.avail_in == 0) {
      ASSIGN_OR_RETURN(const absl::string_view bytes, input_.take());
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream_.avail_in = static_cast<uInt>(bytes.size());
    }
    if (stream_.avail_in == 0) {
      at_end_ = true;
      return within_member_ ? damaged("end in the middle") : absl::OkStatus();
    }
    within_member_ = true;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {  // another member may follow
      within_member_ = false;
      inflateReset(&stream_);
      return absl::OkStatus();
    }
    if (result == Z_OK || result == Z_BUF_ERROR) return absl::OkStatus();
    return damaged(stream_.msg != nullptr ? stream_.msg : "are damaged");
  }

  absl::Status damaged(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat("the compressed bytes ", what, ", near byte ",
                                            input_.offset() - stream_.avail_in));
  }

  PlainBytes input_;
  z_stream stream_ = {};
  bool open_ = false;
  bool within_member_ = false;
  bool at_end_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> plain_bytes(ReadableFile& file, int64_t offset) {
  return std::make_unique<PlainBytes>(file, offset);
}

std::unique_ptr<ByteSource> gzip_bytes(ReadableFile& file) {
  return std::make_unique<GzipBytes>(file);
}

absl::StatusOr<bool> is_gzip(ReadableFile& file) {
  std::array<char, 2> start = {};
  ASSIGN_OR_RETURN(const int64_t count, file.read_at(0, start.size(), start.data()));
  return count == 2 && start[0] == '\x1f' && start[1] == '\x8b';
}

}  // namespace millrace
