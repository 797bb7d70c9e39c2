"""Finds the licences of the libraries that a package carries."""
import glob
import os
import re
import subprocess

DOCUMENTATION = "/usr/share/doc"
# OpenSSL is linked statically, the others are headers.
COMPILED_IN = ("libboost1.74-dev", "libcli11-dev", "libfast-float-dev", "libssl-dev",
               "nlohmann-json3-dev")
# What the librdkafka of confluent-kafka was linked with, beside what the licence of that wheel names.
IN_LIBRDKAFKA = ("libcurl4", "librdkafka-dev", "libzstd1")
COMMON = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9][A-Za-z0-9.+-]*[A-Za-z0-9])")


def debian_package_of(path):
  """Returns the name of the installed Debian package that has the file, or None."""
  # dpkg lists a file where its package put it; /lib has since become a link to /usr/lib.
  for name in (path, path[len("/usr"):] if path.startswith("/usr/") else path):
    try:
      found = subprocess.run(["dpkg-query", "-S", name], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, universal_newlines=True, check=False)
    except OSError:
      return None
    if found.returncode == 0:
      return found.stdout.split(":")[0]
  return None


def _wheel_licences(library):
  folder = library.path[:library.path.rindex("/%s/" % library.wheel)]
  package = library.wheel.partition(".")[0]  # auditwheel puts libraries beside it, into PACKAGE.libs
  for information in glob.glob(os.path.join(glob.escape(folder), package + "-*.dist-info")):
    licences = os.path.join(information, "licenses")
    for at, _, names in os.walk(licences):
      for name in names:
        path = os.path.join(at, name)
        yield os.path.join(package, os.path.relpath(path, licences)), path


def _debian_licences(library):
  package = debian_package_of(library.path)
  return _licences_of(package) if package else ()


def _licences_of(package):
  path = os.path.join(DOCUMENTATION, package, "copyright")
  if not os.path.exists(path):
    return
  yield os.path.join(package, "copyright"), path
  with open(path, encoding="utf-8", errors="replace") as text:
    for name in set(COMMON.findall(text.read())):
      common = os.path.join("/usr/share/common-licenses", name)
      if os.path.exists(common):
        yield os.path.join("common-licenses", name), common


def licences_of_parts(packages=COMPILED_IN):
  """Returns ({name in the package: file}, [packages without a licence]) of code in the program.

  The packages are Debian's.
  """
  licences, missing = {}, []
  for package in packages:
    own = dict(_licences_of(package))
    licences.update(own)
    if not own:
      missing.append(package)
  return licences, missing


def find_licences(libraries):
  """Returns ({name in the package: file}, [names of libraries whose licence was not found])."""
  licences, missing = {}, []
  for library in libraries:
    own = dict(_wheel_licences(library) if library.wheel else _debian_licences(library))
    licences.update(own)
    if not own:
      missing.append(library.name)
  return licences, missing
