"""place.py - prints the folder for Python packages under a prefix: a folder on this Python's search path, if there
is one under the prefix; otherwise PREFIX/lib/pythonX.Y/site-packages.

    python3 python/place.py /usr/local

SPDX-License-Identifier: BSD-3-Clause
"""
import site
import sys
import sysconfig

prefix = sys.argv[1].rstrip("/")
looked_at = [folder for folder in site.getsitepackages() if folder.startswith(prefix + "/lib/")]
print((looked_at + [f"{prefix}/lib/python{sysconfig.get_python_version()}/site-packages"])[0])
