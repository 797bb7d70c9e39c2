#include "tools/exit_code.h"

#include "base/failure_kind.h"

namespace millrace {

int exit_code(const absl::Status& status) {
  // The kind is more exact than the code, so it decides first.
  switch (kind_of(status)) {
    case FailureKind::kMachine: return kExitMachine;
    case FailureKind::kEvaluation: return kExitEvaluation;
    case FailureKind::kDiverged: return kExitDiverged;
    case FailureKind::kPart: return kExitPart;
    case FailureKind::kLimit: return kExitUsage;
    case FailureKind::kBusy: return kExitPeer;
    case FailureKind::kOther: break;
  }
  switch (status.code()) {
    case absl::StatusCode::kOk: return kExitFinished;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kOutOfRange: return kExitUsage;
    case absl::StatusCode::kDataLoss: return kExitBadData;
    case absl::StatusCode::kNotFound: return kExitNoInput;
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted: return kExitCannotCreate;
    case absl::StatusCode::kUnavailable: return kExitIo;
    case absl::StatusCode::kAborted: return kExitPeer;
    default: return kExitBug;
  }
}

}  // namespace millrace
