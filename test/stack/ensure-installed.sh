#!/bin/sh
# Installs the packages of the lock file where they are missing or of another lock file. Runs before the project's own Node is
# there, so: POSIX sh and npm only.
set -eu
cd "$(dirname "$0")/../.."

stamp=node_modules/.vmflow-installed
wanted=$(cksum <package-lock.json)

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
  exit 0
fi
# Somebody ran npm by hand: npm's own record is then younger than the lock file.
if [ -x node_modules/.bin/node ] && [ node_modules/.package-lock.json -nt package-lock.json ]; then
  echo "$wanted" >"$stamp"
  exit 0
fi
if ! command -v npm >/dev/null 2>&1; then
  echo 'npm is not on the PATH: install Node.js 20.19 or newer, which brings it.' >&2
  exit 1
fi
echo 'Installing the packages of package-lock.json (npm ci): one to two minutes the first time.' >&2
npm ci >&2
echo "$wanted" >"$stamp"
