// Responses of HTTP servers.
#ifndef MILLRACE_SINKS_MLFLOW_HTTP_RESPONSE_H_
#define MILLRACE_SINKS_MLFLOW_HTTP_RESPONSE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

struct HttpResponse {
  int status = 0;  // such as 200
  std::string body;
};

// Parses one response of HTTP/1.0 or HTTP/1.1 (RFC 9112) as its bytes arrive. The body has a
// Content-Length, or is chunked, or ends with the connection. Interim responses (1xx) are skipped.
// After an error no other function may be called. Not thread-safe.
class HttpResponseReader {
 public:
  // The status line and the header fields, or the trailer, may have this many bytes.
  static constexpr size_t kMostHeadBytes = 65536;

  explicit HttpResponseReader(size_t most_body_bytes) : most_body_bytes_(most_body_bytes) {}

  // Appends bytes that arrived. Bytes after the end of the response are ignored. Errors: DataLoss
  // if they are not HTTP or exceed a limit.
  absl::Status add(absl::string_view bytes);
  // Notes that the server closed the connection. Errors: DataLoss if the response is not complete.
  absl::Status end();

  bool done() const { return state_ == State::kDone; }
  // REQUIRES: done().
  const HttpResponse& response() const { return response_; }

 private:
  enum class State { kHead, kSizedBody, kBodyToEnd, kChunkSize, kChunk, kTrailer, kDone };

  // Consumes bytes of buffer_ in the present state. Returns: false if more bytes are needed.
  absl::StatusOr<bool> advance();
  absl::StatusOr<bool> read_head();
  absl::Status read_field(absl::string_view line);
  absl::StatusOr<bool> read_body();
  absl::StatusOr<bool> read_chunk_size();
  absl::StatusOr<bool> read_chunk();
  absl::StatusOr<bool> read_trailer();
  // Removes a line, without its end, from the buffer. Returns: false if none is complete.
  absl::StatusOr<bool> take_line(std::string* line);
  absl::Status check_body_size(size_t more) const;

  const size_t most_body_bytes_;
  State state_ = State::kHead;
  std::string buffer_;  // bytes that arrived and were not consumed
  HttpResponse response_;
  bool chunked_ = false;
  bool has_length_ = false;
  size_t remaining_ = 0;  // bytes that the body or the chunk still has
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_MLFLOW_HTTP_RESPONSE_H_
