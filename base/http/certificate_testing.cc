#include "base/http/certificate_testing.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace millrace {
namespace {

constexpr long kDay = 24 * 60 * 60;

// Returns what `write` writes.
template <typename Write>
std::string pem_of(const Write& write) {
  const std::unique_ptr<BIO, int (*)(BIO*)> memory(BIO_new(BIO_s_mem()), &BIO_free);
  EXPECT_EQ(write(memory.get()), 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

void add_extension(X509* certificate, int kind, const char* value) {
  const std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, kind, value), &X509_EXTENSION_free);
  EXPECT_EQ(X509_add_ext(certificate, extension.get(), -1), 1) << value;
}

}  // namespace

TestCertificate make_test_certificate(const std::string& hosts) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), &X509_free);
  X509* const made = certificate.get();
  X509_set_version(made, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
  X509_gmtime_adj(X509_getm_notBefore(made), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(made), kDay);
  X509_NAME* const name = X509_get_subject_name(made);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(made, name);
  X509_set_pubkey(made, key.get());
  add_extension(made, NID_basic_constraints, "CA:TRUE");
  add_extension(made, NID_subject_alt_name, hosts.c_str());
  EXPECT_GT(X509_sign(made, key.get(), EVP_sha256()), 0);
  return {pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, made); }), pem_of([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace millrace
