#include "checkpoint/objects/object_lease.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/chunked_file.h"
#include "checkpoint/objects/ordered_upload.h"

namespace millrace {
namespace {

constexpr int64_t kMostBytes = 4096;
constexpr char kFree[] = "free";
constexpr int kRenewals = 3;  // in a period
constexpr int kLooks = 10;    // in a period, at the lease of another process

// Returns the text of the lease; "": there is none.
absl::StatusOr<std::string> read_lease(FileSystem& store, const std::string& path) {
  const auto text = read_regular_file(store, path, kMostBytes);
  return absl::IsNotFound(text.status()) ? std::string() : text;
}

}  // namespace

std::optional<LeaseText> parse_lease(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  for (const absl::string_view line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    LeaseText lease;
    int64_t milliseconds = 0;
    if (words.size() != 8 || words[0] != "lease" || words[2] != "generation" ||
        words[4] != "renewed" || words[6] != "period" ||
        !absl::SimpleAtoi(words[3], &lease.generation) ||
        !absl::SimpleAtoi(words[5], &lease.renewed) || !absl::SimpleAtoi(words[7], &milliseconds)) {
      continue;
    }
    lease.nonce = words[1];
    lease.period = absl::Milliseconds(milliseconds);
    lease.is_free = lines[0] == kFree;
    return lease;
  }
  return std::nullopt;
}

ObjectLease::ObjectLease(FileSystem& store, std::string path, absl::Duration period,
                         int64_t generation)
    : store_(store),
      path_(std::move(path)),
      period_(period),
      nonce_(new_nonce()),
      generation_(generation),
      first_("another process\n") {}

absl::StatusOr<std::unique_ptr<FileLock>> ObjectLease::acquire(FileSystem& store,
                                                               const std::string& path,
                                                               absl::Duration period,
                                                               Clock& clock) {
  ASSIGN_OR_RETURN(const std::string before, read_lease(store, path));
  const std::optional<LeaseText> old = parse_lease(before);
  if (old.has_value() && !old->is_free) {
    MILLRACE_LOG(INFO) << path << " belongs to another run, which renews it if it still runs: "
                       << "looking for " << absl::FormatDuration(old->period);
    for (int look = 0; look < kLooks; ++look) {
      clock.sleep(old->period / kLooks);
      ASSIGN_OR_RETURN(const std::string now, read_lease(store, path));
      const std::optional<LeaseText> lease = parse_lease(now);
      if (!lease.has_value() || lease->is_free) break;
      if (now != before) return nullptr;
    }
  }
  std::unique_ptr<ObjectLease> lease(
      new ObjectLease(store, path, period, old.has_value() ? old->generation + 1 : 1));
  {
    MutexLock lock(lease->mutex_);
    RETURN_IF_ERROR(put_object(store, path, lease->text()));
  }
  clock.sleep(period / kLooks);
  ASSIGN_OR_RETURN(const std::string after, read_lease(store, path));
  if (!lease->is_own(after)) {
    MutexLock lock(lease->mutex_);
    lease->is_lost_ = true;
    return nullptr;
  }
  lease->renewer_ = std::thread([lease = lease.get()] { lease->renew(); });
  return lease;
}

ObjectLease::~ObjectLease() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  if (renewer_.joinable()) renewer_.join();
  MutexLock lock(mutex_);
  if (is_lost_ || !is_own(read_lease(store_, path_).value_or(""))) return;
  first_ = absl::StrCat(kFree, "\n");
  const absl::Status freed = put_object(store_, path_, text());
  if (!freed.ok()) MILLRACE_LOG(WARNING) << "the next run waits for the lease to end: " << freed;
}

std::string ObjectLease::text() const {
  return absl::StrCat(first_, "lease ", nonce_, " generation ", generation_, " renewed ", renewed_,
                      " period ", absl::ToInt64Milliseconds(period_), "\n", rest_);
}

bool ObjectLease::is_own(absl::string_view text) const {
  const std::optional<LeaseText> lease = parse_lease(text);
  return lease.has_value() && lease->nonce == nonce_;
}

absl::Status ObjectLease::write(absl::string_view content) {
  const size_t end = std::min(content.find('\n'), content.size() - 1) + 1;
  MutexLock lock(mutex_);
  first_ = std::string(content.substr(0, end));
  rest_ = std::string(content.substr(end));
  return put_object(store_, path_, text());
}

void ObjectLease::renew() {
  MutexLock lock(mutex_);
  while (!mutex_.await_for(period_ / kRenewals, [this] { return stopping_; })) {
    // A lease that somebody deleted is nobody else's, and is put again.
    const absl::StatusOr<std::string> now = read_lease(store_, path_);
    if (now.ok() && !now->empty() && !is_own(*now)) {
      is_lost_ = true;
      MILLRACE_LOG(WARNING) << path_ << " was taken by another run: this run saves no more";
      return;
    }
    ++renewed_;
    const absl::Status renewed = now.ok() ? put_object(store_, path_, text()) : now.status();
    if (!renewed.ok()) MILLRACE_LOG(WARNING) << "could not renew the lease: " << renewed;
  }
}

}  // namespace millrace
