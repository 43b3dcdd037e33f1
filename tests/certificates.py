"""Authorities and certificates for tests, made by the openssl command in a folder."""
import os
import shutil
import subprocess

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def openssl_is_there():
    return shutil.which("openssl") is not None


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def make_authority(folder, name):
    """NAME.pem and NAME.key."""
    openssl(folder, "req", "-x509", *NEW_KEY, "-keyout", name + ".key", "-out", name + ".pem",
            "-subj", "/CN=" + name, "-days", "2")


def make_certificate(folder, name, authority="ca", names="IP:127.0.0.1", days=2):
    """NAME.pem and NAME.key, of an authority that is there; `names` as subjectAltName has them."""
    openssl(folder, "req", *NEW_KEY, "-keyout", name + ".key", "-out", name + ".csr",
            "-subj", "/CN=" + name)
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=%s\n" % names)
    openssl(folder, "x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey",
            authority + ".key", "-CAcreateserial", "-extfile", "names", "-days", str(days),
            "-out", name + ".pem")
