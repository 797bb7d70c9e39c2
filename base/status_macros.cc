#include "base/status_macros.h"

#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status annotate(absl::Status status, absl::string_view what) {
  if (status.ok() || what.empty()) return status;
  absl::Status annotated(status.code(), absl::StrCat(what, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    annotated.SetPayload(url, payload);
  });
  return annotated;
}

}  // namespace millrace
