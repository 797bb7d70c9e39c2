// The secret of a job: excludes other users of a machine or network from its store and connections.
#ifndef MILLRACE_DISTRIBUTED_STORE_SEAL_H_
#define MILLRACE_DISTRIBUTED_STORE_SEAL_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/environment/environment_variables.h"

namespace millrace {

// The environment variable of the secret.
inline constexpr char kJobSecretVariable[] = "MILLRACE_JOB_SECRET";

// Returns a new secret as the value of kJobSecretVariable: 64 hexadecimal digits from the
// randomness of the system.
std::string make_job_secret();

// Returns the bytes of kJobSecretVariable; "" if it is not set. Errors: InvalidArgument, without
// the value, unless it has at least 32 hexadecimal digits and an even number of them.
absl::StatusOr<std::string> read_job_secret(const GetVariable& get);

// Seals values by a secret that all ranks of a job have. Immutable, so thread-safe.
class StoreSeal {
 public:
  // `secret`: of read_job_secret(). If empty, values are not sealed.
  explicit StoreSeal(absl::string_view secret);

  // Returns the value encrypted and authenticated with its key (AES-256-GCM with a random nonce),
  // 39 bytes longer; unchanged without a secret.
  std::string seal(absl::string_view key, absl::string_view value) const;
  // Returns the value that was sealed for this key. Errors: FailedPrecondition naming the key if no
  // rank with the secret sealed the value for this key. An unsealed value is returned without a
  // secret alone.
  absl::StatusOr<std::string> open(absl::string_view key, absl::string_view sealed) const;

  // Returns 32 hexadecimal digits that only an owner of the secret can compute from `challenge`
  // (HMAC-SHA256). Without a secret returns "".
  std::string prove(absl::string_view challenge) const;

 private:
  std::string sealing_key_, proof_key_;  // derived from the secret; empty without one
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_STORE_SEAL_H_
