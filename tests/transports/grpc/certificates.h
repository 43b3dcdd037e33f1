// Certificates for tests, made by the openssl command in a folder of their own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

#include "transports/job_security.h"

namespace collbench {

/// Removes its files when it goes. Thread safety: none.
class Certificates {
 public:
  Certificates()
      : folder_(std::filesystem::temp_directory_path() /
                ("collbench-certificates-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    authority("ca");
    authority("other-ca");
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  static bool possible() { return std::system("openssl version > /dev/null 2>&1") == 0; }

  /// A worker's texts: signed by `signer`, bearing `names`, valid for `days` (-1: until yesterday).
  TlsTexts worker(const std::string& signer = "ca",
                  const std::string& names = "IP:127.0.0.1,IP:::1,DNS:localhost", int days = 2) {
    const std::string name = "worker" + std::to_string(++workers_);
    std::ofstream(folder_ / "names") << "subjectAltName=" << names << '\n';
    run("openssl req " + curve() + " -keyout " + name + ".key -out " + name + ".csr -subj /CN=w");
    run("openssl x509 -req -in " + name + ".csr -CA " + signer + ".pem -CAkey " + signer +
        ".key -CAcreateserial -extfile names -days " + std::to_string(days) + " -out " + name +
        ".pem");
    return {text("ca.pem"), text(name + ".pem"), text(name + ".key"), "", true};
  }
  std::string text(const std::string& file) const {
    std::ifstream stream(folder_ / file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  std::filesystem::path path(const std::string& file) const { return folder_ / file; }

 private:
  static std::string curve() { return "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"; }
  void authority(const std::string& name) {
    run("openssl req -x509 " + curve() + " -keyout " + name + ".key -out " + name +
        ".pem -subj /CN=" + name + " -days 2");
  }
  void run(const std::string& command) const {
    const std::string quiet = "cd '" + folder_.string() + "' && " + command + " > log 2>&1";
    if (std::system(quiet.c_str()) != 0) throw std::runtime_error(command + "\n" + text("log"));
  }

  std::filesystem::path folder_;
  int workers_ = 0;
};

}  // namespace collbench
