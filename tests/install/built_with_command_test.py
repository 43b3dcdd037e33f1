"""built_with_command_test.py BUILD_DIR: what `cmake --install` copies is built with the command.

./collbench builds the target collbench alone; installing must work after that. Asks ninja, and
builds nothing; skipped (77) with other generators.
"""
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
if not (build / "build.ninja").exists():
    print("skipped: not built by ninja")
    sys.exit(77)
path = re.compile('"' + re.escape(str(build)) + r'/([^"]+\.(?:a|so)|cli/collbench)"')
installed = set()
for script in build.rglob("cmake_install.cmake"):
    installed.update(path.findall(script.read_text()))
assert "cli/collbench" in installed, f"no installed command among {sorted(installed)}"
inputs = subprocess.run(["ninja", "-C", build, "-t", "inputs", "cli/collbench"], check=True,
                        capture_output=True, text=True).stdout.splitlines()
missing = sorted(installed - set(inputs) - {"cli/collbench"})
assert not missing, f"installed but not built with the command: {missing}"
print(f"{len(installed)} installed files are built with the command")
