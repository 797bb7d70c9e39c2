#include "base/failure_kind.h"

#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr absl::string_view kUrl = "millrace/failure_kind";

// Texts of LibTorch's allocators, which throw exceptions without a type of their own.
constexpr absl::string_view kNoMemory[] = {"can't allocate memory", "not enough memory",
                                           "out of memory", "Cannot allocate memory"};

absl::Status out_of_threads() {
  return with_kind(
      absl::ResourceExhaustedError(
          "the system starts no more threads: raise its limit (ulimit -u, or pids.max of the "
          "container), or set run.threads, run.read.reader_threads and "
          "run.checkpoint.write_threads lower"),
      FailureKind::kMachine);
}

absl::Status out_of_files() { return too_few_files("the process opens no more files"); }

absl::string_view first_line(absl::string_view text) { return text.substr(0, text.find('\n')); }

// "1234 bytes were asked for", if the text has a number of bytes.
std::string asked_bytes(absl::string_view text) {
  const size_t end = text.find(" bytes");
  if (end == absl::string_view::npos) return "";
  const size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  if (begin >= end) return "";
  return absl::StrCat(text.substr(begin, end - begin), " bytes were asked for");
}

}  // namespace

absl::Status with_kind(absl::Status status, FailureKind kind) {
  if (kind_of(status) != FailureKind::kOther) return status;
  return replace_kind(std::move(status), kind);
}

absl::Status replace_kind(absl::Status status, FailureKind kind) {
  if (status.ok()) return status;
  status.SetPayload(kUrl, absl::Cord(absl::StrCat(static_cast<int>(kind))));
  return status;
}

FailureKind kind_of(const absl::Status& status) {
  const auto payload = status.GetPayload(kUrl);
  if (!payload.has_value()) return FailureKind::kOther;
  for (const FailureKind kind :
       {FailureKind::kDiverged, FailureKind::kEvaluation, FailureKind::kMachine,
        FailureKind::kLimit, FailureKind::kBusy, FailureKind::kPart}) {
    if (*payload == absl::StrCat(static_cast<int>(kind))) return kind;
  }
  return FailureKind::kOther;
}

absl::Status as_part_failure(absl::Status status) {
  switch (status.code()) {
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnauthenticated:
      return with_kind(std::move(status), FailureKind::kPart);
    default: return status;
  }
}

absl::Status wrong_result(absl::string_view what) {
  return with_kind(absl::InvalidArgumentError(what), FailureKind::kPart);
}

absl::Status with_more(const absl::Status& status, absl::string_view text) {
  if (status.ok()) return status;
  absl::Status longer(status.code(), absl::StrCat(status.message(), text));
  status.ForEachPayload(
      [&](absl::string_view url, const absl::Cord& payload) { longer.SetPayload(url, payload); });
  return longer;
}

absl::Status out_of_memory(absl::string_view detail) {
  return with_kind(absl::ResourceExhaustedError(absl::StrCat(
                       "out of memory", detail.empty() ? "" : ": ", detail,
                       "; use smaller batches, layers or tables (a table's dim and limit), or a "
                       "machine with more memory")),
                   FailureKind::kMachine);
}

absl::Status too_few_files(absl::string_view what) {
  return with_kind(
      absl::ResourceExhaustedError(absl::StrCat(
          what, ": raise the hard limit of open files (ulimit -Hn, LimitNOFILE of systemd)")),
      FailureKind::kMachine);
}

absl::Status status_of_exception(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) return out_of_memory();
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  if (system != nullptr && system->code() == std::errc::resource_unavailable_try_again) {
    return out_of_threads();
  }
  if (system != nullptr && system->code() == std::errc::not_enough_memory) return out_of_memory();
  const absl::string_view text = exception.what();
  if (absl::StrContains(text, "Too many open files")) return out_of_files();
  for (const absl::string_view sign : kNoMemory) {
    if (absl::StrContains(text, sign)) return out_of_memory(asked_bytes(text));
  }
  return absl::InternalError(first_line(text));
}

}  // namespace millrace
