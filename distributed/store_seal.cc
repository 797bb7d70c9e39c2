#include "distributed/store_seal.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/random/random_hex.h"

namespace millrace {
namespace {

constexpr absl::string_view kMagic = "mrseal1\n\xff\xfe\xfd";  // no value of a rank begins so
constexpr int kNonceBytes = 12;
constexpr int kTagBytes = 16;
constexpr size_t kAddedBytes = kMagic.size() + kNonceBytes + kTagBytes;
constexpr size_t kFewestDigits = 32;
constexpr size_t kDigits = 64;  // of a new secret, and of AES-256's key

using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;

CipherContext make_context() { return {EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free}; }

const unsigned char* bytes_of(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string hmac(absl::string_view key, absl::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  MILLRACE_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(text),
                      text.size(), bytes_of(digest), &size) != nullptr)
      << "HMAC-SHA256";
  digest.resize(size);
  return digest;
}

// Decrypts `sealed`, which ends with the tag. Returns none unless it is authentic.
std::optional<std::string> decrypt(const std::string& key, absl::string_view nonce,
                                   absl::string_view associated, absl::string_view sealed) {
  const absl::string_view text = sealed.substr(0, sealed.size() - kTagBytes);
  std::string tag(sealed.substr(text.size()));
  std::string value(text.size(), '\0');
  const CipherContext context = make_context();
  int size = 0;
  const bool authentic =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key),
                         bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(associated),
                        static_cast<int>(associated.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(value), &size, bytes_of(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(tag), &size) == 1;
  if (!authentic) return std::nullopt;
  return value;
}

}  // namespace

std::string make_job_secret() { return random_hex(kDigits); }

absl::StatusOr<std::string> read_job_secret(const GetVariable& get) {
  const std::optional<std::string> text = get(kJobSecretVariable);
  if (!text) return std::string();
  const auto wrong = std::find_if(text->begin(), text->end(),
                                  [](unsigned char digit) { return std::isxdigit(digit) == 0; });
  if (wrong != text->end() || text->size() < kFewestDigits || text->size() % 2 != 0) {
    const std::string place =
        wrong == text->end()
            ? ""
            : absl::StrCat(", of which number ", wrong - text->begin() + 1, " is no digit");
    return absl::InvalidArgumentError(absl::StrCat(kJobSecretVariable, " has ", text->size(),
                                                   " characters", place, "; it must have at least ",
                                                   kFewestDigits,
                                                   " hexadecimal digits, an even number of them, "
                                                   "and be equal on all ranks: `openssl rand -hex "
                                                   "32` makes one"));
  }
  return absl::HexStringToBytes(*text);
}

StoreSeal::StoreSeal(absl::string_view secret) {
  if (secret.empty()) return;
  sealing_key_ = hmac(secret, "millrace store 1");
  proof_key_ = hmac(secret, "millrace proof 1");
}

std::string StoreSeal::seal(absl::string_view key, absl::string_view value) const {
  if (sealing_key_.empty()) return std::string(value);
  std::string nonce(kNonceBytes, '\0'), sealed(value.size(), '\0'), tag(kTagBytes, '\0');
  const CipherContext context = make_context();
  int size = 0;
  MILLRACE_CHECK(context != nullptr && RAND_bytes(bytes_of(nonce), kNonceBytes) == 1 &&
                 EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr,
                                    bytes_of(sealing_key_), bytes_of(nonce)) == 1 &&
                 EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(key),
                                   static_cast<int>(key.size())) == 1 &&
                 EVP_EncryptUpdate(context.get(), bytes_of(sealed), &size, bytes_of(value),
                                   static_cast<int>(value.size())) == 1 &&
                 EVP_EncryptFinal_ex(context.get(), bytes_of(tag), &size) == 1 &&
                 EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) ==
                     1)
      << "AES-256-GCM";
  return absl::StrCat(kMagic, nonce, sealed, tag);
}

absl::StatusOr<std::string> StoreSeal::open(absl::string_view key, absl::string_view sealed) const {
  const bool is_sealed = absl::StartsWith(sealed, kMagic) && sealed.size() >= kAddedBytes;
  if (sealing_key_.empty()) {
    if (!is_sealed) return std::string(sealed);
    return absl::FailedPreconditionError(
        absl::StrCat("the value of \"", key, "\" in the store of the job is sealed, but ",
                     kJobSecretVariable, " is not set here; set it on all ranks, or on none"));
  }
  if (is_sealed) {
    const absl::string_view rest = sealed.substr(kMagic.size());
    std::optional<std::string> value =
        decrypt(sealing_key_, rest.substr(0, kNonceBytes), key, rest.substr(kNonceBytes));
    if (value) return *std::move(value);
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the value of \"", key, "\" in the store of the job was not written by a rank with the same ",
      kJobSecretVariable,
      ": either a rank has another secret or none, or another user or job writes to the store"));
}

std::string StoreSeal::prove(absl::string_view challenge) const {
  if (proof_key_.empty()) return "";
  return absl::BytesToHexString(hmac(proof_key_, challenge)).substr(0, 32);
}

}  // namespace millrace
