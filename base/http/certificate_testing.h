// Certificates of servers for tests.
#ifndef MILLRACE_BASE_HTTP_CERTIFICATE_TESTING_H_
#define MILLRACE_BASE_HTTP_CERTIFICATE_TESTING_H_

#include <string>

namespace millrace {

struct TestCertificate {
  std::string certificate, key;  // PEM
};

// Returns a new certificate that is valid for a day and signed with its own key, so that a client
// that trusts it accepts a server that has it. `hosts`: subjectAltName as OpenSSL writes it.
TestCertificate make_test_certificate(
    const std::string& hosts = "DNS:localhost,IP:127.0.0.1,IP:::1");

}  // namespace millrace

#endif  // MILLRACE_BASE_HTTP_CERTIFICATE_TESTING_H_
