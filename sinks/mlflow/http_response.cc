#include "sinks/mlflow/http_response.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr absl::string_view kLineEnd = "\r\n";
constexpr absl::string_view kHeadEnd = "\r\n\r\n";
constexpr absl::string_view kVersion = "HTTP/1.";
constexpr size_t kMostSizeDigits = 15;  // of a chunk

absl::Status malformed(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("the response is not HTTP/1.1: ", what));
}

bool is_digits(absl::string_view text, bool (*is_digit)(unsigned char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [=](char c) {
    return is_digit(static_cast<unsigned char>(c));
  });
}

}  // namespace

absl::Status HttpResponseReader::add(absl::string_view bytes) {
  if (done()) return absl::OkStatus();
  buffer_.append(bytes.data(), bytes.size());
  for (bool more = true; more && !done();) {
    ASSIGN_OR_RETURN(more, advance());
  }
  return absl::OkStatus();
}

absl::Status HttpResponseReader::end() {
  if (state_ == State::kBodyToEnd) state_ = State::kDone;
  if (done()) return absl::OkStatus();
  return absl::DataLossError(state_ == State::kHead && buffer_.empty()
                                 ? "the server closed the connection without a response"
                                 : "the server closed the connection within its response");
}

absl::StatusOr<bool> HttpResponseReader::advance() {
  switch (state_) {
    case State::kHead: return read_head();
    case State::kSizedBody:
    case State::kBodyToEnd: return read_body();
    case State::kChunkSize: return read_chunk_size();
    case State::kChunk: return read_chunk();
    case State::kTrailer: return read_trailer();
    case State::kDone: break;
  }
  return false;
}

absl::StatusOr<bool> HttpResponseReader::read_head() {
  // A server of another protocol may send its greeting and then wait.
  const size_t compared = std::min(buffer_.size(), kVersion.size());
  if (buffer_.compare(0, compared, kVersion.data(), compared) != 0) {
    return malformed("it does not begin with HTTP/1");
  }
  const size_t size = buffer_.find(kHeadEnd.data());
  if (std::min(size, buffer_.size()) > kMostHeadBytes) {
    return malformed(absl::StrCat("its header exceeds ", kMostHeadBytes, " bytes"));
  }
  if (size == buffer_.npos) return false;
  const std::vector<std::string> lines = absl::StrSplit(buffer_.substr(0, size), kLineEnd);
  buffer_.erase(0, size + kHeadEnd.size());
  const std::string& first = lines[0];  // HTTP/1.1 200 OK
  if (first.size() < 12 || first[8] != ' ' || (first.size() > 12 && first[12] != ' ') ||
      !is_digits(first.substr(9, 3), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(first.substr(9, 3), &response_.status)) {
    return malformed("its first line has no status");
  }
  if (response_.status < 200) return true;  // an interim response: another one follows
  for (size_t i = 1; i < lines.size(); ++i) RETURN_IF_ERROR(read_field(lines[i]));
  if (response_.status == 204 || response_.status == 304) {
    state_ = State::kDone;
  } else if (chunked_) {
    state_ = State::kChunkSize;
  } else {
    state_ = has_length_ ? State::kSizedBody : State::kBodyToEnd;
    RETURN_IF_ERROR(check_body_size(remaining_));
  }
  return true;
}

absl::Status HttpResponseReader::read_field(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == line.npos) return malformed("a header field has no colon");
  const absl::string_view name = line.substr(0, colon);
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (absl::EqualsIgnoreCase(name, "Transfer-Encoding")) {
    if (!absl::EqualsIgnoreCase(value, "chunked")) {
      return malformed("its transfer encoding is not \"chunked\"");
    }
    chunked_ = true;
  } else if (absl::EqualsIgnoreCase(name, "Content-Length")) {
    uint64_t length = 0;
    if (!is_digits(value, absl::ascii_isdigit) || !absl::SimpleAtoi(value, &length) ||
        (has_length_ && length != remaining_)) {
      return malformed("its Content-Length is not a number");
    }
    has_length_ = true;
    remaining_ = length;
  }
  return absl::OkStatus();
}

absl::Status HttpResponseReader::check_body_size(size_t more) const {
  if (more <= most_body_bytes_ && response_.body.size() <= most_body_bytes_ - more) {
    return absl::OkStatus();
  }
  return absl::DataLossError(
      absl::StrCat("the response has more than ", most_body_bytes_, " bytes"));
}

absl::StatusOr<bool> HttpResponseReader::read_body() {
  const bool sized = state_ == State::kSizedBody;
  const size_t count = sized ? std::min(remaining_, buffer_.size()) : buffer_.size();
  RETURN_IF_ERROR(check_body_size(count));
  response_.body.append(buffer_, 0, count);
  buffer_.erase(0, count);
  if (!sized) return false;
  remaining_ -= count;
  if (remaining_ == 0) state_ = State::kDone;
  return false;
}

absl::StatusOr<bool> HttpResponseReader::take_line(std::string* line) {
  const size_t size = buffer_.find(kLineEnd.data());
  if (std::min(size, buffer_.size()) > kMostHeadBytes) {
    return malformed(absl::StrCat("a line exceeds ", kMostHeadBytes, " bytes"));
  }
  if (size == buffer_.npos) return false;
  *line = buffer_.substr(0, size);
  buffer_.erase(0, size + kLineEnd.size());
  return true;
}

absl::StatusOr<bool> HttpResponseReader::read_chunk_size() {
  std::string line;
  ASSIGN_OR_RETURN(const bool complete, take_line(&line));
  if (!complete) return false;
  const std::string digits(absl::StripAsciiWhitespace(line.substr(0, line.find(';'))));
  uint64_t size = 0;
  if (digits.size() > kMostSizeDigits || !is_digits(digits, absl::ascii_isxdigit) ||
      !absl::SimpleHexAtoi(digits, &size)) {
    return malformed("a chunk has no size");
  }
  RETURN_IF_ERROR(check_body_size(size));
  remaining_ = size;
  state_ = size == 0 ? State::kTrailer : State::kChunk;
  return true;
}

absl::StatusOr<bool> HttpResponseReader::read_chunk() {
  const size_t count = std::min(remaining_, buffer_.size());
  response_.body.append(buffer_, 0, count);
  buffer_.erase(0, count);
  remaining_ -= count;
  if (remaining_ > 0 || buffer_.size() < kLineEnd.size()) return false;
  if (!absl::StartsWith(buffer_, kLineEnd)) return malformed("a chunk has no end");
  buffer_.erase(0, kLineEnd.size());
  state_ = State::kChunkSize;
  return true;
}

absl::StatusOr<bool> HttpResponseReader::read_trailer() {
  std::string line;
  ASSIGN_OR_RETURN(const bool complete, take_line(&line));
  if (complete && line.empty()) state_ = State::kDone;
  return complete;
}

}  // namespace millrace
